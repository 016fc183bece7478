-- The part of `load_keys` for projects, records, epochs and receipts.

create or replace function load_records(
  ws uuid[], projects jsonb, feedbacks jsonb, conversations jsonb, messages jsonb, epochs jsonb, receipts jsonb
) returns table (kind text, w integer, key text, found json)
  language plpgsql stable as $$
begin
  if projects is not null then
    return query
      select 'project', k.w, k.key::text, json_build_object('first', p.first_number)
      from jsonb_to_recordset(projects) as k (w integer, key uuid)
      cross join lateral (select * from project as x where x.workspace_id = ws[k.w] and x.id = k.key limit 1) as p;
  end if;
  if feedbacks is not null then
    return query
      select 'feedback', k.w, k.key::text, json_build_object('number', f.number)
      from jsonb_to_recordset(feedbacks) as k (w integer, key uuid)
      cross join lateral (select x.number from feedback as x where x.workspace_id = ws[k.w] and x.id = k.key limit 1) as f;
  end if;
  if conversations is not null then
    return query
      select 'conversation', k.w, k.key::text, json_build_object('number', c.number, 'version', instant_of(c.latest_version))
      from jsonb_to_recordset(conversations) as k (w integer, key uuid)
      cross join lateral (
        select x.number, x.latest_version from conversation as x where x.workspace_id = ws[k.w] and x.id = k.key limit 1
      ) as c;
  end if;
  if messages is not null then
    return query
      select 'message', k.w, k.key::text, json_build_object('number', m.number, 'version', instant_of(m.version))
      from jsonb_to_recordset(messages) as k (w integer, key uuid)
      cross join lateral (select x.number, x.version from message as x where x.workspace_id = ws[k.w] and x.id = k.key limit 1) as m;
  end if;
  if epochs is not null then
    return query
      select 'epoch', k.w, k.key::text, json_build_object('epoch', p.epoch, 'number', p.number)
      from jsonb_to_recordset(epochs) as k (w integer, key uuid)
      cross join lateral (select * from purged_key as x where x.workspace_id = ws[k.w] and x.key_id = k.key limit 1) as p;
  end if;
  -- A purge can have taken a replay back: its receipt is not queued then.
  if receipts is not null then
    return query
      select 'receipt', k.w, k.key::text, json_build_object('isQueued', r.state = 'queued')
      from jsonb_to_recordset(receipts) as k (w integer, key uuid)
      cross join lateral (select x.state from submission as x where x.workspace_id = ws[k.w] and x.id = k.key limit 1) as r;
  end if;
end $$;

-- Microseconds since 1970, as `instantOf` in contract/date-time.ts.
create or replace function instant_of(given timestamptz) returns double precision
  language sql stable as $$
  select (extract(epoch from given) * 1000000)::double precision
$$;
