-- Facts: what has been said about a contact or account, as {key: [rank, value]}. A key is 'c:' and a column or 'p:' and a
-- metadata key. The rank of a value that an identify set is its acceptance number; of one that a find-or-create gave, the
-- negated number. So of two values the one with the greater rank holds: identify above find-or-create, the latest identify,
-- the first find-or-create. Merging commutes, whoever stores first.
--
-- This stands here and not behind a generated column: rows are written from merged facts, and none is computed by it.
create or replace function merge_facts(a jsonb, b jsonb) returns jsonb
  language plpgsql immutable strict parallel safe as $$
declare
  rank jsonb;
begin
  if a = '{}' then return b; end if;
  if b = '{}' or a @> b then return a; end if;
  -- What one submission says has one rank. Mostly it is above or below all that is known.
  rank := jsonb_build_object('rank', jsonb_path_query_first(b, '$.*[0]'));
  if not jsonb_path_exists(b, '$.*[0] ? (@ != $rank)', rank) then
    if not jsonb_path_exists(a, '$.*[0] ? (@ >= $rank)', rank) then return a || b; end if;
    if not jsonb_path_exists(a, '$.*[0] ? (@ <= $rank)', rank) then return b || a; end if;
  end if;
  return (
    select jsonb_object_agg(key, value)
    from (
      select distinct on (key) key, value
      from (select key, value from jsonb_each(a) union all select key, value from jsonb_each(b)) as f
      order by key, (value ->> 0)::bigint desc, value::text
    ) as winners
  );
end $$;

create or replace aggregate all_facts (jsonb) (sfunc = merge_facts, stype = jsonb, initcond = '{}', parallel = safe);

-- Adds what is said to what is known, where it changes anything. What says nothing new is left out first: mostly find-or-create
-- gives what was given before. Only then is put together what several say of one. Nobody else writes a workspace that is locked,
-- so `on conflict` would only look twice and write each row in two steps.
create or replace function add_to_contacts(ws uuid, said said_contact[]) returns void
  language plpgsql as $$
declare
  news said_contact[];
  is_known boolean;
begin
  select array_agg(s), bool_or(known.place is not null) into news, is_known
  from unnest(said) as s
  left join lateral (
    select ctid as place, facts, account_number, first_number, last_identify_number, updated_at from contact
    where workspace_id = ws and id = s.id offset 0
  ) as known on true
  where known.place is null
    or s.first_number < known.first_number
    or s.last_identify_number > coalesce(known.last_identify_number, 0)
    or s.account_number > coalesce(known.account_number, 0)
    or not (
      (known.updated_at < acceptance_time(s.first_number) and known.facts ?& array(select jsonb_object_keys(s.facts)))
      or merge_facts(known.facts, s.facts) = known.facts
    );
  if news is null then return; end if;
  if (select count(distinct id) < count(*) from unnest(news)) then
    news := array(
      select n::said_contact
      from (
        select s.id, all_facts(s.facts) as facts,
          (array_agg(s.account_id order by s.account_number desc) filter (where s.account_id is not null))[1] as account_id,
          max(s.account_number) as account_number, min(s.first_number) as first_number,
          max(s.last_identify_number) as last_identify_number
        from unnest(news) as s group by s.id
      ) as n
    );
  end if;
  if not is_known then
    insert into contact (workspace_id, id, facts, account_id, account_number, first_number, last_identify_number)
    select ws, id, facts, account_id, account_number, first_number, last_identify_number from unnest(news);
  else
    perform merge_into_contacts(ws, news);
  end if;
end $$;

-- Each is named once, and some of them are known.
create or replace function merge_into_contacts(ws uuid, news said_contact[]) returns void
  language plpgsql as $$
begin
  with placed as materialized (
    select n.*, known.place from unnest(news) as n
    left join lateral (select ctid as place from contact where workspace_id = ws and id = n.id offset 0) as known on true
  ),
  added as (
    insert into contact (workspace_id, id, facts, account_id, account_number, first_number, last_identify_number)
    select ws, id, facts, account_id, account_number, first_number, last_identify_number from placed where place is null
  )
  update contact as k set
    facts = merge_facts(k.facts, n.facts),
    account_id = case when n.account_number > coalesce(k.account_number, 0) then n.account_id else k.account_id end,
    account_number = greatest(k.account_number, n.account_number),
    first_number = least(k.first_number, n.first_number),
    last_identify_number = greatest(k.last_identify_number, n.last_identify_number)
  from placed as n where n.place is not null and k.workspace_id is not distinct from ws and k.ctid = n.place;
end $$;

create or replace function add_to_accounts(ws uuid, said said_account[]) returns void
  language plpgsql as $$
declare
  news said_account[];
  is_known boolean;
begin
  select array_agg(s), bool_or(known.place is not null) into news, is_known
  from unnest(said) as s
  left join lateral (
    select ctid as place, facts, first_number, last_identify_number, updated_at from account
    where workspace_id = ws and id = s.id offset 0
  ) as known on true
  where known.place is null
    or s.first_number < known.first_number
    or s.last_identify_number > coalesce(known.last_identify_number, 0)
    or not (
      (known.updated_at < acceptance_time(s.first_number) and known.facts ?& array(select jsonb_object_keys(s.facts)))
      or merge_facts(known.facts, s.facts) = known.facts
    );
  if news is null then return; end if;
  if (select count(distinct id) < count(*) from unnest(news)) then
    news := array(
      select n::said_account
      from (
        select s.id, all_facts(s.facts) as facts, min(s.first_number) as first_number,
          max(s.last_identify_number) as last_identify_number
        from unnest(news) as s group by s.id
      ) as n
    );
  end if;
  if not is_known then
    insert into account (workspace_id, id, facts, first_number, last_identify_number)
    select ws, id, facts, first_number, last_identify_number from unnest(news);
  else
    perform merge_into_accounts(ws, news);
  end if;
end $$;

create or replace function merge_into_accounts(ws uuid, news said_account[]) returns void
  language plpgsql as $$
begin
  with placed as materialized (
    select n.*, known.place from unnest(news) as n
    left join lateral (select ctid as place from account where workspace_id = ws and id = n.id offset 0) as known on true
  ),
  added as (
    insert into account (workspace_id, id, facts, first_number, last_identify_number)
    select ws, id, facts, first_number, last_identify_number from placed where place is null
  )
  update account as k set
    facts = merge_facts(k.facts, n.facts),
    first_number = least(k.first_number, n.first_number),
    last_identify_number = greatest(k.last_identify_number, n.last_identify_number)
  from placed as n where n.place is not null and k.workspace_id is not distinct from ws and k.ctid = n.place;
end $$;

-- Puts together anew what is known about the given contacts, accounts and projects; those of which nothing is left go.
create or replace function gather(ws uuid, subjects uuid[]) returns void
  language plpgsql as $$
begin
  delete from contact where workspace_id = ws and id = any (subjects);
  insert into contact (workspace_id, id, facts, account_id, account_number, first_number, last_identify_number)
  select ws, said.id, all_facts(said.facts),
    (array_agg(said.account_id order by said.account_number desc) filter (where said.account_id is not null))[1],
    max(said.account_number), min(said.first_number), max(said.last_number)
  from (
    select s.id, k.facts, k.account_id, k.account_number, k.said_from as first_number, k.last_number
    from unnest(subjects) as s (id),
      lateral (
        select * from identity_key
        where workspace_id is not distinct from ws and subject_id = s.id and kind in ('contact_external', 'contact_bare') and said_from is not null
        offset 0
      ) as k
    union all
    select contact_id, contact_ref -> 'given', null, null, number, null from references_to(ws, 'contact', subjects)
    where contact_given
  ) as said
  group by said.id;
  delete from account where workspace_id = ws and id = any (subjects);
  insert into account (workspace_id, id, facts, first_number, last_identify_number)
  select ws, said.id, all_facts(said.facts), min(said.first_number), max(said.last_number)
  from (
    select s.id, k.facts, k.said_from as first_number, k.last_number
    from unnest(subjects) as s (id),
      lateral (
        select * from identity_key
        where workspace_id is not distinct from ws and subject_id = s.id and kind = 'account_external' and said_from is not null offset 0
      ) as k
    union all
    select account_id, account_ref -> 'given', number, null from references_to(ws, 'account', subjects)
    where account_given
  ) as said
  group by said.id;
  delete from project where workspace_id = ws and id = any (subjects);
  insert into project (workspace_id, id, name, first_number)
  select ws, project_id, min(project_ref -> 'given' ->> 'name'), min(number) from references_to(ws, 'project', subjects)
  where project_given
  group by project_id;
end $$;
