"""``daicho plan``: what a deployment of the checkout changes in a stage, and what it costs."""
