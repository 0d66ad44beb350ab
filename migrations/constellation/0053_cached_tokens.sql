-- What models cost is added up from the index alone, also by purpose and with what providers had already.
DROP INDEX model_usage_at;
CREATE INDEX model_usage_at ON model_usage
    (at, agent_id, model, input_tokens, output_tokens, cost_usd, cache_read_tokens, turn_id, person_id);
