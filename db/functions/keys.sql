-- What identify calls say: keys with their facts, and claims on weak keys. Returns which keys now answer differently (changed),
-- which exist earlier (appeared), and whose facts have to be gathered anew (touched).
create or replace function store_identities(
  keys identity_key[], claims new_claim[], out changed workspace_key[], out appeared workspace_key[], out touched workspace_key[]
)
  language plpgsql as $$
declare
  stored record;
  regrouped record;
  claimed record;
begin
  keys := sum_keys(keys);
  stored := store_keys(keys);
  changed := '{}';
  appeared := stored.appeared;
  if cardinality(stored.anew) > 0 then
    regrouped := regroup_all(stored.anew);
    changed := regrouped.changed;
    appeared := appeared || regrouped.appeared;
  end if;
  claimed := store_claims(claims);
  changed := changed || claimed.changed;
  appeared := appeared || claimed.appeared;
  touched := '{}';
  if cardinality(changed) > 0 then
    touched := touched_by(changed);
  end if;
  if cardinality(stored.others) > 0 then
    perform add_identified(stored.others);
  end if;
end $$;

-- A bare id that moved takes along what was said about it, so both contacts are gathered anew.
create or replace function touched_by(changed workspace_key[]) returns workspace_key[]
  language plpgsql as $$
declare
  touched workspace_key[] := array(
    select t::workspace_key from unnest(changed) as c,
      lateral (
        select group_id from identity_key where workspace_id = c.workspace_id and id = c.id and kind = 'contact_bare' offset 0
      ) as b,
      lateral (
        select workspace_id, id from identity_key
        where workspace_id is not distinct from c.workspace_id and group_id = b.group_id and kind = 'contact_external' offset 0
      ) as t
  );
begin
  perform derive_conversation_contacts(t.workspace_id, array_agg(distinct c.conversation_id))
  from unnest(touched) as t,
    lateral (
      select conversation_id from conversation_contact
      where workspace_id is not distinct from t.workspace_id and contact_id = t.id offset 0
    ) as c
  group by t.workspace_id;
  return touched;
end $$;

-- Adds what these keys say to the contacts and accounts that they belong to.
create or replace function add_identified(keys identity_key[]) returns void
  language plpgsql as $$
begin
  perform add_to_contacts(array(
    select s::new_contact
    from (
      select n.workspace_id, k.subject_id as id, n.facts, n.account_id, n.account_number, n.said_from as first_number,
        n.last_number as last_identify_number
      from unnest(keys) as n,
        lateral (select subject_id from identity_key where workspace_id = n.workspace_id and id = n.id offset 0) as k
      where n.kind in ('contact_external', 'contact_bare')
    ) as s
  ));
  perform add_to_accounts(array(
    select s::new_account
    from (
      select n.workspace_id, n.id, n.facts, n.said_from as first_number, n.last_number as last_identify_number
      from unnest(keys) as n where n.kind = 'account_external'
    ) as s
  ));
end $$;

-- What several submissions of a batch say about one key, put together.
create or replace function sum_keys(keys identity_key[]) returns identity_key[]
  language plpgsql immutable as $$
declare
  summed uuid[] := array(select id from unnest(keys) group by id having count(*) > 1 or bool_or(can_exceed_bound(facts)));
begin
  if cardinality(summed) = 0 then return keys; end if;
  return array(select n from unnest(keys) as n where n.id <> all (summed)) || array(
    select k::identity_key
    from (
      select n.workspace_id, n.id, min(n.kind) as kind, (array_agg(n.group_id))[1] as group_id,
        (array_agg(n.home_id order by n.said_from))[1] as home_id, (array_agg(n.source order by n.said_from))[1] as source,
        min(n.external_id) as external_id, min(n.said_from) as said_from, max(n.last_number) as last_number,
        merged_facts(array_agg(n.facts)) as facts,
        (array_agg(n.account_id order by n.account_number desc) filter (where n.account_id is not null))[1] as account_id,
        max(n.account_number) as account_number, null::bigint as exists_from, null::uuid as subject_id, null::boolean as orphaned
      from unnest(keys) as n where n.id = any (summed) group by n.workspace_id, n.id
    ) as k
  );
end $$;

-- Writes keys, facts and external ids. A key that is the first of its group is written as it stays, with its contact or account,
-- and not regrouped (32 us for each new contact); anew are groups that got another key, or one that was said earlier than known.
create or replace function store_keys(
  keys identity_key[], out anew workspace_key[], out appeared workspace_key[], out others identity_key[]
)
  language plpgsql as $$
declare
  shared uuid[] := array(select group_id from unnest(keys) group by group_id having count(*) > 1);
begin
  with said as materialized (
    select n.*, n as key, i::workspace_key as itself, g::workspace_key as of_group, known.place, known.said_from as former_from,
      known.place is null and n.kind <> 'contact_bare' and n.group_id <> all (shared) and (n.group_id = n.id or not exists (
        select from identity_key as k where k.workspace_id is not distinct from n.workspace_id and k.group_id = n.group_id offset 0
      )) as is_first
    from unnest(keys) as n
    left join lateral (select ctid as place, said_from from identity_key where workspace_id = n.workspace_id and id = n.id offset 0) as known on true,
      lateral (select n.workspace_id as workspace_id, n.id as id) as i, lateral (select n.workspace_id as workspace_id, n.group_id as id) as g
  ),
  added as (
    insert into identity_key (
      workspace_id, id, kind, group_id, home_id, source, external_id, said_from, last_number, facts,
      account_id, account_number, exists_from, subject_id)
    select workspace_id, id, kind, group_id, home_id, source, external_id, said_from, last_number, facts,
      account_id, account_number, case when is_first then said_from end, id
    from said where place is null
  ),
  contact_listed as (
    insert into contact_external_id (workspace_id, key_id, source, external_id, contact_id)
    select workspace_id, id, source, external_id, id from said where is_first and kind = 'contact_external'
  ),
  account_listed as (
    insert into account_external_id (workspace_id, key_id, source, external_id, account_id)
    select workspace_id, id, source, external_id, id from said where is_first and kind = 'account_external'
  ),
  contact_added as (
    insert into contact (workspace_id, id, facts, account_id, account_number, first_number, last_identify_number)
    select workspace_id, id, facts, account_id, account_number, said_from, last_number from said where is_first and kind = 'contact_external'
  ),
  account_added as (
    insert into account (workspace_id, id, facts, first_number, last_identify_number)
    select workspace_id, id, facts, said_from, last_number from said where is_first and kind = 'account_external'
  ),
  moved as (
    update identity_key as k set
      facts = merge_facts(k.facts, n.facts),
      home_id = case when n.said_from < k.said_from then n.home_id else k.home_id end,
      source = case when n.said_from < k.said_from then n.source else k.source end,
      said_from = least(k.said_from, n.said_from),
      last_number = greatest(k.last_number, n.last_number),
      account_id = case when n.account_number > coalesce(k.account_number, 0) then n.account_id else k.account_id end,
      account_number = greatest(k.account_number, n.account_number)
    from said as n where n.place is not null and k.workspace_id is not distinct from n.workspace_id and k.ctid = n.place
  )
  select
    array(select distinct of_group from said where not is_first and (place is null or former_from is null or said_from < former_from)),
    array(select u from said, unnest(array[itself, of_group]) as u where is_first),
    array(select key from said where not is_first)
  into anew, appeared, others;
end $$;

-- Regroups workspace by workspace: mostly there is nothing to.
create or replace function regroup_all(groups workspace_key[], out changed workspace_key[], out appeared workspace_key[])
  language plpgsql as $$
declare
  regrouped record;
begin
  changed := '{}';
  appeared := '{}';
  for regrouped in
    select r.*, w.workspace_id from (select workspace_id, array_agg(id) as groups from unnest(groups) group by workspace_id) as w,
      regroup(w.workspace_id, w.groups) as r
  loop
    changed := changed || keys_of(regrouped.workspace_id, regrouped.changed);
    appeared := appeared || keys_of(regrouped.workspace_id, regrouped.appeared);
  end loop;
end $$;

create or replace function keys_of(ws uuid, ids uuid[]) returns workspace_key[]
  language sql immutable as $$
  select array(select k::workspace_key from (select ws as workspace_id, id from unnest(ids) as u (id)) as k)
$$;

-- Derives which external keys exist since when, and which one a bare external id belongs to: the oldest key of its group,
-- or, when it is older than all of them, the one it starts at home. Returns the keys and groups that changed, and apart from them
-- those of external ids that nobody knew (appeared): nothing that is stored meant them, except who remembers the id.
--
-- A group changes with its oldest key. Any other decides only for references of its own source that are newer than it, so one that
-- comes after all that is stored changes nothing that is stored: without this each new source of an id had all who named the id linked
-- anew (3,200 messages of one sender, whose id came from 320 sources then: 15 s).
create or replace function regroup(ws uuid, groups uuid[], out changed uuid[], out appeared uuid[])
  language plpgsql as $$
declare
  newest constant bigint := newest_stored(ws);
begin
  perform start_homes(ws, groups);
  -- Windows and no joins: of a conversation with thousands of new contacts the planner knows no numbers, and a nested loop
  -- over them took seconds.
  with members as (
    select k.place, k.id, k.group_id, k.kind, k.source, k.said_from, k.exists_from as former_from, k.subject_id as former_subject,
      min(k.said_from) filter (where k.kind <> 'contact_bare') over same_id as named_from,
      min(k.said_from) filter (where k.kind = 'contact_bare') over same_id as bare_from,
      (array_agg(k.home_id) filter (where k.kind = 'contact_bare') over same_id)[1] as home_id,
      bool_or(k.exists_from is not null) over same_id as known
    from unnest(groups) as g (id),
      lateral (select *, ctid as place from identity_key where workspace_id is not distinct from ws and group_id = g.id offset 0) as k
    window same_id as (partition by k.group_id)
  ),
  dated as (
    select *, case
      when kind = 'contact_bare' then said_from
      when id = home_id and (named_from is null or bare_from < named_from) then least(said_from, bare_from)
      else said_from
    end as exists_from
    from members
  ),
  derived as (
    select place, exists_from, former_from, former_subject, known, case
        when kind <> 'contact_bare' then id
        else first_value(id) over (
          partition by group_id order by kind = 'contact_bare', exists_from nulls last, source collate "C"
        )
      end as subject_id,
      kind <> 'contact_bare' and (
        exists_from = min(exists_from) filter (where kind <> 'contact_bare') over same_id
        or former_from = min(former_from) filter (where kind <> 'contact_bare') over same_id
        or least(exists_from, former_from) <= newest
      ) as concerns_group
    from dated
    window same_id as (partition by group_id)
  ),
  moved as (
    update identity_key as k set exists_from = d.exists_from, subject_id = d.subject_id
    from derived as d
    where k.workspace_id is not distinct from ws and k.ctid = d.place and (d.former_from, d.former_subject) is distinct from (d.exists_from, d.subject_id)
    returning k.id, case when d.concerns_group then k.group_id end as group_id, d.known
  )
  select coalesce(array_agg(distinct u.id) filter (where m.known), '{}'),
    coalesce(array_agg(distinct u.id) filter (where not m.known), '{}')
  into changed, appeared
  from moved as m, lateral (values (m.id), (m.group_id)) as u (id) where u.id is not null;
  perform list_external_keys(ws, changed || appeared);
  -- A weak key that was claimed through a bare id follows it.
  if cardinality(changed) > 0 then
    changed := changed || claimed_by(ws, changed, false);
  end if;
end $$;

-- The key that a bare external id starts at home, where the bare one is the oldest of its group.
create or replace function start_homes(ws uuid, groups uuid[]) returns void
  language sql as $$
  insert into identity_key (workspace_id, id, kind, group_id, source, external_id, subject_id)
  select ws, b.home_id, 'contact_external', b.group_id, b.source, b.external_id, b.home_id
  from unnest(groups) as g (id),
    lateral (
      select * from identity_key where workspace_id is not distinct from ws and group_id = g.id and kind = 'contact_bare' offset 0
    ) as b
  where not exists (
    select from identity_key as n
    where n.workspace_id is not distinct from ws and n.group_id = b.group_id and n.kind = 'contact_external' and n.said_from <= b.said_from offset 0
  )
  on conflict do nothing
$$;

-- Brings what users read of the external ids among these up to date.
create or replace function list_external_keys(ws uuid, ids uuid[]) returns void
  language plpgsql as $$
declare
  keys identity_key[] := array(
    select k from unnest(ids) as u (id),
      lateral (select k from identity_key as k where k.workspace_id = ws and k.id = u.id offset 0) as found (k)
  );
begin
  delete from contact_external_id
  where workspace_id = ws and key_id = any (array(select id from unnest(keys) where kind = 'contact_external' and exists_from is null));
  insert into contact_external_id (workspace_id, key_id, source, external_id, contact_id)
  select ws, id, source, external_id, id from unnest(keys) where kind = 'contact_external' and exists_from is not null
  on conflict do nothing;
  insert into account_external_id (workspace_id, key_id, source, external_id, account_id)
  select ws, id, source, external_id, id from unnest(keys) where kind = 'account_external' and exists_from is not null
  on conflict (workspace_id, key_id) do update set source = excluded.source;
end $$;
