-- Writes claims and links and says which weak keys now answer differently (changed) or exist earlier (appeared). Claims of a key
-- that nobody knew before concern nothing that is stored, except who remembers the key's id. Mostly a claim repeats the one that
-- holds already, or is the first on its key: neither changes an answer, and one look tells.
create or replace function store_claims(ws uuid, claims said_claim[], out changed uuid[], out appeared uuid[])
  language plpgsql as $$
begin
  changed := '{}';
  appeared := '{}';
  if cardinality(claims) = 0 then return; end if;
  with said as materialized (
    select c.*, known.place, known.exists_from
    from unnest(claims) as c
    left join lateral (
      select ctid as place, exists_from from identity_key where workspace_id = ws and id = c.key_id offset 0
    ) as known on true
  ),
  altered as (
    select distinct c.key_id
    from said as c
    left join lateral (
      select target_id from identity_claim
      where workspace_id = ws and key_id = c.key_id and not link and decides and number <= c.number order by number desc limit 1
    ) as last_claim on true
    cross join lateral (
      select case when last_claim.target_id is null then claim_at(ws, c.key_id, c.number) end as claim offset 0
    ) as before
    where c.decides and c.place is not null and case
      when last_claim.target_id is not null then not c.link and last_claim.target_id <> c.target_id
      else (before.claim).key_id is null or (before.claim).target_id <> c.target_id or (before.claim).link <> c.link
        or ((before.claim).number > c.number and c.link)
    end
  ),
  kept as (
    insert into identity_claim (workspace_id, key_id, number, target_id, link, decides)
    select ws, c.key_id, c.number, c.target_id, c.link, c.decides from said as c
    where c.place is null or not exists (
      select from identity_claim as i
      where i.workspace_id = ws and i.key_id = c.key_id and i.number = c.number and i.target_id = c.target_id offset 0
    )
  ),
  earliest as materialized (
    select key_id, kind, place, min(number) as number from said where exists_from is null or exists_from > number
    group by key_id, kind, place
  ),
  added as (
    insert into identity_key (workspace_id, id, kind, exists_from, subject_id)
    select ws, key_id, kind, number, key_id from earliest where place is null
  ),
  moved as (
    update identity_key as k set exists_from = least(k.exists_from, e.number) from earliest as e
    where e.place is not null and k.workspace_id is not distinct from ws and k.ctid = e.place
  )
  select array(select key_id from altered), array(select key_id from earliest) into changed, appeared;
  -- A name that was linked to a domain follows it.
  if cardinality(changed) > 0 then
    changed := changed || claimed_by(ws, changed, true);
  end if;
end $$;

-- Weak keys that have been claimed for the given keys, or names that are linked to them.
create or replace function claimed_by(ws uuid, targets uuid[], by_link boolean) returns uuid[]
  language sql stable as $$
  select array(
    select c.key_id from unnest(targets) as t (id),
      lateral (
        select key_id from identity_claim where workspace_id is not distinct from ws and target_id = t.id and link = by_link offset 0
      ) as c
  )
$$;

-- What find-or-create gave counts: its weak keys exist, and a name that came with a domain is linked to it.
create or replace function store_given(ws uuid, given given_reference[], out changed uuid[], out appeared uuid[])
  language plpgsql as $$
declare
  linked record;
begin
  changed := '{}';
  appeared := '{}';
  if cardinality(given) = 0 then return; end if;
  with earliest as materialized (
    select g.weak, g.kind, known.place, min(g.number) as number from unnest(given) as g
    left join lateral (
      select ctid as place, said_from from identity_key where workspace_id = ws and id = g.weak offset 0
    ) as known on true
    where known.said_from is null or known.said_from > g.number
    group by g.weak, g.kind, known.place
  ),
  added as (
    insert into identity_key (workspace_id, id, kind, said_from, exists_from, subject_id)
    select ws, weak, kind, number, number, weak from earliest where place is null
  ),
  moved as (
    update identity_key as k set said_from = least(k.said_from, e.number), exists_from = least(k.exists_from, e.number)
    from earliest as e
    where e.place is not null and k.workspace_id is not distinct from ws and k.ctid = e.place
  )
  select coalesce(array_agg(weak), '{}') into appeared from earliest;
  linked := store_links(ws, given);
  changed := linked.changed;
  appeared := appeared || linked.appeared;
end $$;

-- Names that came with a domain are linked to it. A link that repeats the one before it changes no answer, nor does one that
-- comes after a claim: neither is kept, which would be a row in two indexes and three looks for each feedback (20 us). When a
-- link to elsewhere is put before links that were left out, the first of those is needed after all; the references that made
-- them are all still there.
create or replace function store_links(ws uuid, given given_reference[], out changed uuid[], out appeared uuid[])
  language plpgsql as $$
declare
  links said_claim[];
  parted said_claim[];
  stored record;
begin
  changed := '{}';
  appeared := '{}';
  with named as (
    select g.name_key, g.number, g.weak, lag(g.weak) over of_name as former, lag(g.number) over of_name as former_number
    from unnest(given) as g where g.name_key is not null
    window of_name as (partition by g.name_key order by g.number)
  )
  select array_agg(l::said_claim), array_agg(l::said_claim) filter (where held.target_id <> g.weak)
  into links, parted
  from named as g
  left join lateral (
    select number, target_id, link from identity_claim
    where workspace_id = ws and key_id = g.name_key and decides and number <= g.number order by number desc limit 1
  ) as held on true,
    lateral (
      select g.name_key as key_id, 'account_name' as kind, g.number as number, g.weak as target_id, true as link, true as decides
    ) as l
  where case
    when held.number is null or g.former_number > held.number then g.former is distinct from g.weak
    else held.link and held.target_id <> g.weak
  end;
  if links is null then return; end if;
  stored := store_claims(ws, links);
  changed := stored.changed;
  appeared := stored.appeared;
  if parted is null then return; end if;
  insert into identity_claim (workspace_id, key_id, number, target_id, link)
  select ws, l.key_id, later.number, later.weak, true
  from unnest(parted) as l,
    lateral (
      select g.number, g.weak
      from references_to(ws, 'account', reach(ws, array[l.key_id])) as r,
        lateral (select * from given_in(r.account_ref, r.number) offset 0) as g
      where r.account_given and g.name_key = l.key_id and g.number > l.number
      order by g.number limit 1
    ) as later
  on conflict do nothing;
end $$;

-- The opposite of store_given, when it turns out that an id of the same reference meant somebody after all.
create or replace function withdraw_given(ws uuid, given given_reference[]) returns uuid[]
  language plpgsql as $$
declare
  weak_keys uuid[];
  names uuid[];
  reached uuid[];
begin
  if cardinality(given) = 0 then return '{}'; end if;
  weak_keys := array(select distinct g.weak from unnest(given) as g);
  names := array(select distinct g.name_key from unnest(given) as g where g.name_key is not null);
  -- As long as the links stand: records that they led elsewhere are linked anew only afterwards.
  reached := coalesce(reach(ws, weak_keys || names), '{}');
  delete from identity_claim where workspace_id is not distinct from ws and ctid = any (array(
    select c.ctid from unnest(given) as g,
      lateral (
        select ctid from identity_claim where workspace_id = ws and key_id = g.name_key and number = g.number and link offset 0
      ) as c
  ));
  if found then
    perform restore_links(ws, names, reached);
  end if;
  update identity_key as k
  set said_from = kept.said_from, exists_from = least(kept.said_from, kept.claimed_from)
  from (
    select held.place, said.said_from,
      (select min(c.number) from identity_claim as c where c.workspace_id = ws and c.key_id = w.id) as claimed_from
    from unnest(weak_keys || names) as w (id)
    cross join lateral (select ctid as place from identity_key where workspace_id = ws and id = w.id offset 0) as held
    left join (
      select weak, min(number) as said_from
      from (
        select contact_ref ->> 'weak' as weak, number from references_to(ws, 'contact', reached) where contact_given
        union all
        select account_ref ->> 'weak', number from references_to(ws, 'account', reached) where account_given
        union all
        select project_ref ->> 'weak', number from references_to(ws, 'project', weak_keys || names) where project_given
      ) as kept_by
      group by weak
    ) as said on said.weak = w.id::text
  ) as kept
  where k.workspace_id is not distinct from ws and k.ctid = kept.place;
  return weak_keys || names;
end $$;

-- The links of a name that references in the given reach have made: those that lead elsewhere than the one before.
create or replace function restore_links(ws uuid, names uuid[], reached uuid[]) returns void
  language sql as $$
  insert into identity_claim (workspace_id, key_id, number, target_id, link)
  select ws, name_key, number, weak, true
  from (
    select g.name_key, g.number, g.weak, lag(g.weak) over (partition by g.name_key order by g.number) as former
    from references_to(ws, 'account', reached) as r, lateral (select * from given_in(r.account_ref, r.number) offset 0) as g
    where r.account_given and g.name_key = any (names)
  ) as links
  where former is distinct from weak
  on conflict do nothing
$$;
