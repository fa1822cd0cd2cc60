// The resources that differ between two CloudFormation templates, as JSON on standard output.
// node template_diff.mjs NODE_MODULES OLD.json NEW.json
// What an update of a property does to a resource is knowledge of the AWS CDK team's own package.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { resolve } from "node:path";

const [modules, ...files] = process.argv.slice(2);
const { fullDiff } = createRequire(resolve(modules, "index.js"))("@aws-cdk/cloudformation-diff");
const [before, after] = files.map((file) => JSON.parse(readFileSync(file, "utf8")));

const list = (changes) =>
  Object.entries(changes).map(([name, change]) => ({
    name,
    before: change.oldValue ?? null,
    after: change.newValue ?? null,
    impact: change.changeImpact ?? "",
  }));

const resources = [];
fullDiff(before, after).resources.forEachDifference((id, change) =>
  resources.push({
    id,
    type_before: change.oldResourceType ?? null,
    type_after: change.newResourceType ?? null,
    impact: change.changeImpact,
    properties: list(change.propertyUpdates),
    attributes: list(change.otherChanges),
  }),
);

process.stdout.write(JSON.stringify(resources));
