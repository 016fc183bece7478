-- The part of `load_keys` for projects, records, epochs and receipts. Many strides need none of
-- them. `LoadedRow` in db/apply/load.ts describes the columns.

create or replace function load_records(
  ws uuid[], project_w int[], project_id uuid[], feedback_w int[], feedback_id uuid[], conversation_w int[], conversation_id uuid[],
  message_w int[], message_id uuid[], epoch_w int[], epoch_key uuid[], receipt_w int[], receipt_id uuid[]
) returns setof loaded_key
  language plpgsql stable as $$
begin
  if cardinality(project_id) > 0 then
    return query
      select 'project', k.w, k.key::text, p.id, null::text, null::bigint, null::boolean, null::text, null::integer,
        null::double precision, null::jsonb
      from unnest(project_w, project_id) as k (w, key)
      cross join lateral (select x.id from project as x where x.workspace_id = ws[k.w] and x.id = k.key limit 1) as p;
  end if;
  if cardinality(feedback_id) > 0 then
    return query
      select 'feedback', k.w, k.key::text, f.id, null::text, f.newest, null::boolean, null::text, null::integer,
        null::double precision, null::jsonb
      from unnest(feedback_w, feedback_id) as k (w, key)
      cross join lateral (
        select x.id, coalesce(x.newest_number, x.number) as newest
        from feedback as x where x.workspace_id = ws[k.w] and x.id = k.key limit 1
      ) as f;
  end if;
  if cardinality(conversation_id) > 0 then
    return query
      select 'conversation', k.w, k.key::text, c.id, null::text, c.newest, null::boolean, null::text, null::integer,
        instant_of(c.latest_version), null::jsonb
      from unnest(conversation_w, conversation_id) as k (w, key)
      cross join lateral (
        select x.id, coalesce(x.newest_number, x.number) as newest, x.latest_version
        from conversation as x where x.workspace_id = ws[k.w] and x.id = k.key limit 1
      ) as c;
  end if;
  if cardinality(message_id) > 0 then
    return query
      select 'message', k.w, k.key::text, m.id, null::text, m.newest, null::boolean, null::text, null::integer,
        instant_of(m.version), null::jsonb
      from unnest(message_w, message_id) as k (w, key)
      cross join lateral (
        select x.id, coalesce(x.newest_number, x.number) as newest, x.version
        from message as x where x.workspace_id = ws[k.w] and x.id = k.key limit 1
      ) as m;
  end if;
  if cardinality(epoch_key) > 0 then
    return query
      select 'epoch', k.w, k.key::text, k.key, null::text, p.epoch::bigint, null::boolean, null::text, null::integer,
        null::double precision, null::jsonb
      from unnest(epoch_w, epoch_key) as k (w, key)
      cross join lateral (
        select x.epoch from purged_key as x where x.workspace_id = ws[k.w] and x.key_id = k.key limit 1
      ) as p;
  end if;
  -- claimed: the receipt is queued. A purge sets the receipt of a queued replay back to dead, and
  -- then the replay is not applied.
  if cardinality(receipt_id) > 0 then
    return query
      select 'receipt', k.w, k.key::text, k.key, null::text, null::bigint, r.state = 'queued', null::text, null::integer,
        null::double precision, null::jsonb
      from unnest(receipt_w, receipt_id) as k (w, key)
      cross join lateral (select x.state from submission as x where x.workspace_id = ws[k.w] and x.id = k.key limit 1) as r;
  end if;
end $$;
