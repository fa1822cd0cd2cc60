"""``daicho cost``: the monthly bill, estimated from declarations and a traffic file."""
