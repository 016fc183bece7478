-- Loads the stored data of the keys that strides name, in one call for several workspaces. Keys
-- come as parallel arrays: the index of the workspace in ws, the key, and its level
-- (db/apply/load.ts).
-- The kinds share columns: building JSON for a key costs more than its look-up.
--
-- Every look-up is `cross join lateral (... limit 1)` or `offset 0`, with the planner settings
-- below. Otherwise a generic plan that was made while the tables were empty would read a whole
-- workspace for each key.

-- presence: bits of the columns with a value: 1 name, 2 email or domain, 4 contract_value, 8
-- source_created_at, 16 source_updated_at, 32 account. whole: all stored data of a profile.
-- version: source_updated_at of a profile, latest_version of a conversation, version of a message.
-- number: for a key, when it appeared or was claimed; for a profile or record, its last change.
--
-- The functions that load_keys calls plan under its settings.

create or replace function load_keys(
  ws uuid[],
  contact_key_w int[], contact_key uuid[], contact_key_want int[],
  email_w int[], emails text[], email_want int[],
  contact_w int[], contact_id uuid[], contact_want int[],
  account_key_w int[], account_key uuid[], account_key_want int[],
  domain_w int[], domains text[], domain_want int[],
  name_w int[], names text[], name_want int[],
  account_w int[], account_id uuid[], account_want int[],
  project_w int[], project_id uuid[], project_want int[],
  feedback_w int[], feedback_id uuid[], feedback_want int[],
  conversation_w int[], conversation_id uuid[], conversation_want int[],
  message_w int[], message_id uuid[], message_want int[],
  epoch_w int[], epoch_key uuid[], epoch_want int[],
  receipt_w int[], receipt_id uuid[], receipt_want int[]
) returns table (
  kind text, w integer, key text, id uuid, source text, number bigint, claimed boolean, domain text, presence integer,
  version double precision, whole jsonb
)
  language plpgsql stable
  set enable_seqscan = off
  set enable_bitmapscan = off
  set enable_hashjoin = off
  set enable_mergejoin = off
  set join_collapse_limit = 1
  set from_collapse_limit = 1
  set plan_cache_mode = force_generic_plan
as $$
begin
  -- The position is read first: rows that are newer than the position are harmless, older ones are
  -- not.
  return query select * from load_progress(ws);
  if cardinality(contact_key) + cardinality(emails) + cardinality(contact_id) > 0 then
    return query select * from load_contacts(
      ws, contact_key_w, contact_key, contact_key_want, email_w, emails, email_want, contact_w, contact_id, contact_want);
  end if;
  if cardinality(account_key) + cardinality(account_id) > 0 then
    return query select * from load_accounts(
      ws, account_key_w, account_key, account_key_want, account_w, account_id, account_want);
  end if;
  if cardinality(domains) + cardinality(names) > 0 then
    return query select * from load_account_names(ws, domain_w, domains, domain_want, name_w, names, name_want);
  end if;
  if cardinality(project_id) + cardinality(feedback_id) + cardinality(conversation_id) + cardinality(message_id)
    + cardinality(epoch_key) + cardinality(receipt_id) > 0 then
    return query select * from load_records(
      ws, project_w, project_id, feedback_w, feedback_id, conversation_w, conversation_id, message_w, message_id, epoch_w, epoch_key,
      receipt_w, receipt_id);
  end if;
end $$;

-- presence has bits: 1 records have to be moved, 2 a purge is being removed, 4 there were purges. A
-- deleted workspace has no row.
create or replace function load_progress(ws uuid[]) returns table (
  kind text, w integer, key text, id uuid, source text, number bigint, claimed boolean, domain text, presence integer,
  version double precision, whole jsonb
)
  language plpgsql stable as $$
#variable_conflict use_column
begin
  return query
    select 'progress', g.w::integer, null::text, null::uuid, null::text, p.applied_number, null::boolean, null::text,
      exists (select from pending_move as m where m.workspace_id = ws[g.w])::integer
        + 2 * exists (select from purge as r where r.workspace_id = ws[g.w])::integer + 4 * (p.purges > 0)::integer,
      null::double precision, null::jsonb
    from generate_series(1, cardinality(ws)) as g (w)
    cross join lateral (select * from workspace_progress as x where x.workspace_id = ws[g.w] limit 1) as p;
end $$;

-- Projects, records, epochs and receipts.
create or replace function load_records(
  ws uuid[], project_w int[], project_id uuid[], feedback_w int[], feedback_id uuid[], conversation_w int[], conversation_id uuid[],
  message_w int[], message_id uuid[], epoch_w int[], epoch_key uuid[], receipt_w int[], receipt_id uuid[]
) returns table (
  kind text, w integer, key text, id uuid, source text, number bigint, claimed boolean, domain text, presence integer,
  version double precision, whole jsonb
)
  language plpgsql stable as $$
#variable_conflict use_column
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
      select 'feedback', k.w, k.key::text, f.id, null::text, f.number, null::boolean, null::text, null::integer,
        null::double precision, null::jsonb
      from unnest(feedback_w, feedback_id) as k (w, key)
      cross join lateral (select x.id, x.number from feedback as x where x.workspace_id = ws[k.w] and x.id = k.key limit 1) as f;
  end if;
  if cardinality(conversation_id) > 0 then
    return query
      select 'conversation', k.w, k.key::text, c.id, null::text, c.number, null::boolean, null::text, null::integer,
        instant_of(c.latest_version), null::jsonb
      from unnest(conversation_w, conversation_id) as k (w, key)
      cross join lateral (
        select x.id, x.number, x.latest_version from conversation as x where x.workspace_id = ws[k.w] and x.id = k.key limit 1
      ) as c;
  end if;
  if cardinality(message_id) > 0 then
    return query
      select 'message', k.w, k.key::text, m.id, null::text, m.number, null::boolean, null::text, null::integer,
        instant_of(m.version), null::jsonb
      from unnest(message_w, message_id) as k (w, key)
      cross join lateral (
        select x.id, x.number, x.version from message as x where x.workspace_id = ws[k.w] and x.id = k.key limit 1
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
  -- claimed: the receipt is queued. A purge can have taken a replay back.
  if cardinality(receipt_id) > 0 then
    return query
      select 'receipt', k.w, k.key::text, k.key, null::text, null::bigint, r.state = 'queued', null::text, null::integer,
        null::double precision, null::jsonb
      from unnest(receipt_w, receipt_id) as k (w, key)
      cross join lateral (select x.state from submission as x where x.workspace_id = ws[k.w] and x.id = k.key limit 1) as r;
  end if;
end $$;
