"""A small run of every campaign; `make fuzz` makes the large one."""

from __future__ import annotations

import pytest

from tests.faults.campaign import Campaign, one_sentence, run_campaign
from tests.faults.campaigns import CAMPAIGNS

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("campaign", CAMPAIGNS, ids=lambda campaign: campaign.name.replace(" ", "-"))
def test_every_attempt_ends_in_an_answer_or_one_sentence(campaign):
    tally = run_campaign(campaign, campaign.small)
    assert tally.tries == campaign.small
    assert not tally.failures, "\n".join(tally.failures[:3])
    assert len(tally.outcomes) > 1, f"a campaign that always ends alike tries too little: {tally.outcomes}"


def test_a_campaign_notices_what_it_is_there_for():
    def attempt(rng, folder):
        if rng.random() < 0.5:
            raise ValueError("a bug")
        one_sentence("Fine.")
        return "fine"

    tally = run_campaign(Campaign("toy", attempt, 0, 0), 50)
    assert tally.outcomes["fine"] + len(tally.failures) == 50
    assert 10 < len(tally.failures) < 40
    assert "attempt=" in tally.failures[0]
    with pytest.raises(AssertionError):
        one_sentence("two\nlines")
