-- What failed is found without reading all that arrived, and what models cost is added up from the index alone.
CREATE INDEX inbox_dead ON inbox (person_id) WHERE status = 'dead';
DROP INDEX model_usage_at;
CREATE INDEX model_usage_at ON model_usage (at, agent_id, model, input_tokens, output_tokens, cost_usd);
