-- Every search asks how many entries can be found, and the page of costs adds up by day.
CREATE INDEX archival_living ON archival_entries (agent_id, audience)
WHERE archived_at IS NULL AND superseded_by IS NULL;
DROP INDEX model_usage_at;
CREATE INDEX model_usage_at ON model_usage (at, agent_id, model, input_tokens, output_tokens, cost_usd);
CREATE INDEX model_usage_days ON model_usage
    (substr(at, 1, 10), agent_id, model, turn_id IS NULL, person_id IS NULL, input_tokens, output_tokens, cost_usd, cache_read_tokens, at);
