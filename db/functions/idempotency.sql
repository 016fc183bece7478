-- Idempotency keys: which submission came with which key, for a day (table idempotency_key). Whoever writes them holds the workspace's
-- lock; keys are freed and expire without it.

-- The `idempotency_keys` of these parts, rows in the table's own shape. Of two submissions with one key the later has it, since it came
-- when the key was free. No key is in a part twice.
create or replace function store_idempotency_keys(parts workspace_part[]) returns void
  language sql as $$
  insert into idempotency_key as k (workspace_id, key, body, submission_id, number, concerns)
  select p.workspace_id, s.key, s.body, s.submission_id, s.number, coalesce(s.concerns, '{}')
  from unnest(parts) as p,
    jsonb_to_recordset(p.part -> 'idempotency_keys') as s (key text, body text, submission_id uuid, number bigint, concerns uuid[])
  on conflict (workspace_id, key) do update
  set body = excluded.body, submission_id = excluded.submission_id, number = excluded.number, concerns = excluded.concerns
  where k.number < excluded.number
$$;

-- Without those that purges have freed: of what they refuse, and of what concerns others as well, such as a conversation.
create or replace function idempotency_past_fences(ws uuid, said jsonb, refused bigint[]) returns jsonb
  language sql stable as $$
  select coalesce(jsonb_agg(k), '[]')
  from jsonb_array_elements(said) as k, lateral (select (k ->> 'number')::bigint) as s (n)
  where n <> all (refused) and not exists (
    select from jsonb_array_elements_text(k -> 'concerns') as c (id),
      lateral (
        select number from fence where workspace_id = ws and key_id = c.id::uuid
        union all select number from fence where workspace_id is not distinct from ws and group_id = c.id::uuid
        union all select number from fence as f where f.workspace_id is not distinct from ws and f.id = c.id::uuid
        offset 0
      ) as f
    where f.number > n
  )
$$;

-- One key, {key, body, concerns}, of a submission that is settled by itself; null if it had none.
create or replace function store_idempotency_key(ws uuid, said jsonb, of_submission uuid, n bigint) returns void
  language plpgsql as $$
begin
  if said is null then return; end if;
  perform store_idempotency_keys(array_agg(p::workspace_part))
  from (
    select ws as workspace_id, jsonb_build_object('idempotency_keys', idempotency_past_fences(
      ws, jsonb_build_array(said || jsonb_build_object('submission_id', of_submission, 'number', n)), '{}'
    )) as part
  ) as p;
end $$;

-- Settles a purge and keeps its idempotency key. One that was settled before keeps none: a later purge may have freed it.
create or replace function settle_purge_with_key(
  ws uuid, purge_id uuid, with_attempts int, hashes jsonb, idempotency jsonb
) returns jsonb
  language plpgsql as $$
declare
  n bigint;
begin
  perform lock_workspaces(array[ws]);
  select number into n from purge where workspace_id = ws and id = purge_id;
  if n is not null then perform store_idempotency_key(ws, idempotency, purge_id, n); end if;
  return settle_purge(ws, purge_id, with_attempts, hashes);
end $$;
