-- Loads the stored data of the keys that strides name, in one call for several workspaces. The keys
-- of a kind come as one jsonb parameter, [{w, key, want}] or null: the index of the workspace in
-- ws, the key, and its level (db/apply/load.ts, which also has the members of each `found`).
--
-- Every look-up is `cross join lateral (... limit 1)` or `offset 0`, with the planner settings
-- below. Otherwise a generic plan that was made while the tables were empty would read a whole
-- workspace for each key. The functions that load_keys calls plan under its settings.
create or replace function load_keys(
  ws uuid[], contact_keys jsonb, emails jsonb, contacts jsonb, account_keys jsonb, domains jsonb, names jsonb, accounts jsonb,
  projects jsonb, feedbacks jsonb, conversations jsonb, messages jsonb, epochs jsonb, receipts jsonb
) returns table (kind text, w integer, key text, found json)
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
  return query select 'progress', p.w, null::text, p.found from load_progress(ws) as p;
  if coalesce(contact_keys, emails, contacts) is not null then
    return query select * from load_contacts(ws, contact_keys, emails, contacts);
  end if;
  if coalesce(account_keys, domains, names, accounts) is not null then
    return query select * from load_accounts(ws, account_keys, domains, names, accounts);
  end if;
  if coalesce(projects, feedbacks, conversations, messages, epochs, receipts) is not null then
    return query select * from load_records(ws, projects, feedbacks, conversations, messages, epochs, receipts);
  end if;
end $$;

-- A deleted workspace has no row.
create or replace function load_progress(ws uuid[]) returns table (w integer, found json)
  language plpgsql stable as $$
begin
  return query
    select g.w, json_build_object(
      'position', p.applied_number, 'hadPurges', p.purges > 0,
      'hasMoves', exists (select from pending_move as m where m.workspace_id = ws[g.w]),
      'isRemoving', exists (select from purge as r where r.workspace_id = ws[g.w]))
    from generate_series(1, cardinality(ws)) as g (w)
    cross join lateral (select * from workspace_progress as x where x.workspace_id = ws[g.w] limit 1) as p;
end $$;
