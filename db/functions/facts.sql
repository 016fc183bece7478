-- Facts: what has been said about a contact or account, as {key: [rank, value]}. A key is 'c:' and a column or 'p:' and a
-- metadata key. The rank of a value that an identify set is its acceptance number; of one that a find-or-create gave, the
-- negated number. So of two values the one with the greater rank holds: identify above find-or-create, the latest identify,
-- the first find-or-create. Merging commutes, whoever stores first.
--
-- Of metadata keys the 1,000 with the greatest ranks are kept, of those with one rank the first by name. A key whose value is null
-- counts as any other: it was said. Ranks of a key only grow, so a key that gave way to 1,000 others does not come back before it is
-- said again, and bounding commutes as well: in whatever order, and however often in between.
--
-- These stand here and not behind a generated column: rows are written from merged facts, and none is computed by them.

-- What is known (a), together with what is said (b).
create or replace function merge_facts(a jsonb, b jsonb) returns jsonb
  language plpgsql immutable strict parallel safe as $$
declare
  news jsonb := newer_facts(a, b);
begin
  if news = '{}' then return a; end if;
  return bounded_facts(a || news);
end $$;

-- What several have said, put together at once: in turn, each would copy what those before it have said.
create or replace function merged_facts(sayings jsonb[]) returns jsonb
  language plpgsql immutable strict parallel safe as $$
begin
  if cardinality(sayings) = 1 then return bounded_facts(sayings[1]); end if;
  if cardinality(sayings) = 2 then return bounded_facts(sayings[1] || newer_facts(sayings[1], sayings[2])); end if;
  return bounded_facts((
    select coalesce(jsonb_object_agg(key, value), '{}')
    from (
      select distinct on (f.key collate "C") f.key, f.value from unnest(sayings) as s, jsonb_each(s) as f
      order by f.key collate "C", f.value desc
    ) as winners
  ));
end $$;

-- Those of the said facts that outrank what is known. Of two with one rank, which one contact's keys can have from one conversation,
-- the greater value holds.
create or replace function newer_facts(known jsonb, said jsonb) returns jsonb
  language plpgsql immutable strict parallel safe as $$
declare
  rank jsonb;
  news jsonb;
begin
  if said = '{}' then return said; end if;
  -- Taken out of its compressed form, which each of the expressions below would do anew.
  known := known || '{}';
  if known = '{}' then return said; end if;
  -- What one submission says has one rank. Mostly it is above all that is known.
  rank := jsonb_build_object('rank', jsonb_path_query_first(said, '$.*[0]'));
  if not jsonb_path_exists(known, '$.*[0] ? (@ >= $rank)', rank) and not jsonb_path_exists(said, '$.*[0] ? (@ != $rank)', rank) then
    return said;
  end if;
  news := (
    select coalesce(jsonb_object_agg(f.key, f.value), '{}') from jsonb_each(said) as f
    where known -> f.key is null or f.value > known -> f.key
  );
  -- Nothing is new that gives way to what is known.
  if can_exceed_bound(known) and news <> '{}' and bounded_facts(known || news) = known then return '{}'; end if;
  return news;
end $$;

create or replace function most_metadata_keys() returns int language sql immutable parallel safe return 1000;

create or replace function bounded_facts(facts jsonb) returns jsonb
  language plpgsql immutable strict parallel safe as $$
begin
  if not can_exceed_bound(facts)
     or (select count(*) from jsonb_object_keys(facts) as key where starts_with(key, 'p:')) <= most_metadata_keys() then
    return facts;
  end if;
  return (
    select jsonb_object_agg(key, value)
    from (
      select key, value, row_number() over (
        partition by starts_with(key, 'p:') order by value -> 0 desc, key collate "C"
      ) as place
      from jsonb_each(facts)
    ) as ranked
    where place <= most_metadata_keys() or not starts_with(key, 'p:')
  );
end $$;

-- A metadata key takes 32 bytes at least. This holds for a value that was just made: what is stored can be compressed.
create or replace function can_exceed_bound(facts jsonb) returns boolean
  language sql stable parallel safe return pg_column_size(facts) >= 32000;

-- Adds what is said to what is known, where it changes anything: mostly find-or-create gives what was given before. Each contact's
-- facts are read once and written once, however many say something of it. Nobody else writes a workspace that is locked, so
-- `on conflict` would only look twice and write each row in two steps.
create or replace function add_to_contacts(said new_contact[]) returns void
  language plpgsql as $$
declare
  news new_contact[];
  is_known boolean;
  summed uuid[] := array(select id from unnest(said) group by id having count(*) > 1 or bool_or(can_exceed_bound(facts)));
begin
  if cardinality(summed) > 0 then
    said := array(select s from unnest(said) as s where s.id <> all (summed)) || array(
      select n::new_contact
      from (
        select s.workspace_id, s.id, merged_facts(array_agg(s.facts)) as facts,
          (array_agg(s.account_id order by s.account_number desc) filter (where s.account_id is not null))[1] as account_id,
          max(s.account_number) as account_number, min(s.first_number) as first_number,
          max(s.last_identify_number) as last_identify_number
        from unnest(said) as s where s.id = any (summed) group by s.workspace_id, s.id
      ) as n
    );
  end if;
  select array_agg(n::new_contact), bool_or(known.place is not null) into news, is_known
  from unnest(said) as s
  left join lateral (
    select ctid as place, facts, account_number, first_number, last_identify_number, updated_at from contact
    where workspace_id = s.workspace_id and id = s.id offset 0
  ) as known on true,
    lateral (
      select case
        when known.place is null then s.facts
        -- Given after all that is known, and all its keys are.
        when s.last_identify_number is null and known.updated_at < acceptance_time(s.first_number)
          and known.facts ?& array(select jsonb_object_keys(s.facts)) then '{}'
        else newer_facts(known.facts, s.facts)
      end as facts
      offset 0
    ) as f,
    lateral (
      select s.workspace_id as workspace_id, s.id as id, f.facts as facts, s.account_id as account_id, s.account_number as account_number,
        s.first_number as first_number, s.last_identify_number as last_identify_number
    ) as n
  where known.place is null
    or s.first_number < known.first_number
    or s.last_identify_number > coalesce(known.last_identify_number, 0)
    or s.account_number > coalesce(known.account_number, 0)
    or f.facts <> '{}';
  if news is null then return; end if;
  if not is_known then
    insert into contact (workspace_id, id, facts, account_id, account_number, first_number, last_identify_number)
    select workspace_id, id, facts, account_id, account_number, first_number, last_identify_number from unnest(news);
  else
    perform merge_into_contacts(news);
  end if;
end $$;

-- Each is named once, and some of them are known: of these come only facts that are new.
create or replace function merge_into_contacts(news new_contact[]) returns void
  language plpgsql as $$
begin
  with placed as materialized (
    select n.*, known.place from unnest(news) as n
    left join lateral (select ctid as place from contact where workspace_id = n.workspace_id and id = n.id offset 0) as known on true
  ),
  added as (
    insert into contact (workspace_id, id, facts, account_id, account_number, first_number, last_identify_number)
    select workspace_id, id, facts, account_id, account_number, first_number, last_identify_number from placed where place is null
  )
  update contact as k set
    facts = bounded_facts(k.facts || n.facts),
    account_id = case when n.account_number > coalesce(k.account_number, 0) then n.account_id else k.account_id end,
    account_number = greatest(k.account_number, n.account_number),
    first_number = least(k.first_number, n.first_number),
    last_identify_number = greatest(k.last_identify_number, n.last_identify_number)
  from placed as n where n.place is not null and k.workspace_id is not distinct from n.workspace_id and k.ctid = n.place;
end $$;

create or replace function add_to_accounts(said new_account[]) returns void
  language plpgsql as $$
declare
  news new_account[];
  is_known boolean;
  summed uuid[] := array(select id from unnest(said) group by id having count(*) > 1 or bool_or(can_exceed_bound(facts)));
begin
  if cardinality(summed) > 0 then
    said := array(select s from unnest(said) as s where s.id <> all (summed)) || array(
      select n::new_account
      from (
        select s.workspace_id, s.id, merged_facts(array_agg(s.facts)) as facts, min(s.first_number) as first_number,
          max(s.last_identify_number) as last_identify_number
        from unnest(said) as s where s.id = any (summed) group by s.workspace_id, s.id
      ) as n
    );
  end if;
  select array_agg(n::new_account), bool_or(known.place is not null) into news, is_known
  from unnest(said) as s
  left join lateral (
    select ctid as place, facts, first_number, last_identify_number, updated_at from account
    where workspace_id = s.workspace_id and id = s.id offset 0
  ) as known on true,
    lateral (
      select case
        when known.place is null then s.facts
        when s.last_identify_number is null and known.updated_at < acceptance_time(s.first_number)
          and known.facts ?& array(select jsonb_object_keys(s.facts)) then '{}'
        else newer_facts(known.facts, s.facts)
      end as facts
      offset 0
    ) as f,
    lateral (
      select s.workspace_id as workspace_id, s.id as id, f.facts as facts, s.first_number as first_number, s.last_identify_number as last_identify_number
    ) as n
  where known.place is null
    or s.first_number < known.first_number
    or s.last_identify_number > coalesce(known.last_identify_number, 0)
    or f.facts <> '{}';
  if news is null then return; end if;
  if not is_known then
    insert into account (workspace_id, id, facts, first_number, last_identify_number)
    select workspace_id, id, facts, first_number, last_identify_number from unnest(news);
  else
    perform merge_into_accounts(news);
  end if;
end $$;

create or replace function merge_into_accounts(news new_account[]) returns void
  language plpgsql as $$
begin
  with placed as materialized (
    select n.*, known.place from unnest(news) as n
    left join lateral (select ctid as place from account where workspace_id = n.workspace_id and id = n.id offset 0) as known on true
  ),
  added as (
    insert into account (workspace_id, id, facts, first_number, last_identify_number)
    select workspace_id, id, facts, first_number, last_identify_number from placed where place is null
  )
  update account as k set
    facts = bounded_facts(k.facts || n.facts),
    first_number = least(k.first_number, n.first_number),
    last_identify_number = greatest(k.last_identify_number, n.last_identify_number)
  from placed as n where n.place is not null and k.workspace_id is not distinct from n.workspace_id and k.ctid = n.place;
end $$;
