-- Writes claims and links and says which weak keys now answer differently (changed) or exist earlier (appeared). Claims of a key
-- that nobody knew before concern nothing that is stored, except who remembers the key's id. Mostly a claim repeats the one that
-- holds already, or is the first on its key: neither changes an answer, and one look tells.
create or replace function store_claims(claims new_claim[], out changed workspace_key[], out appeared workspace_key[])
  language plpgsql as $$
begin
  changed := '{}';
  appeared := '{}';
  if cardinality(claims) = 0 then return; end if;
  with said as materialized (
    select c.*, known.place, known.exists_from
    from unnest(claims) as c
    left join lateral (
      select ctid as place, exists_from from identity_key where workspace_id = c.workspace_id and id = c.key_id offset 0
    ) as known on true
  ),
  altered as (
    select distinct c.workspace_id, c.key_id as id
    from said as c
    left join lateral (
      select target_id from identity_claim
      where workspace_id = c.workspace_id and key_id = c.key_id and not link and decides and number <= c.number
      order by number desc limit 1
    ) as last_claim on true
    cross join lateral (
      select case when last_claim.target_id is null then claim_at(c.workspace_id, c.key_id, c.number) end as claim offset 0
    ) as before
    -- A claim after all that is stored changes no answer to it, unless it is the first: without this each new claim on a key had whatever
    -- the key ever meant linked anew (1,600 feedback of one name, each with another domain: 15 s).
    where c.decides and c.place is not null and case
      when last_claim.target_id is not null then not c.link and last_claim.target_id <> c.target_id
      else (before.claim).key_id is null or (before.claim).target_id <> c.target_id or (before.claim).link <> c.link
        or ((before.claim).number > c.number and c.link)
    end and (c.number <= newest_stored(c.workspace_id) or (last_claim.target_id is null and (before.claim).key_id is null))
  ),
  kept as (
    insert into identity_claim (workspace_id, key_id, number, target_id, link, decides)
    select c.workspace_id, c.key_id, c.number, c.target_id, c.link, c.decides from said as c
    where c.place is null or not exists (
      select from identity_claim as i
      where i.workspace_id = c.workspace_id and i.key_id = c.key_id and i.number = c.number and i.target_id = c.target_id offset 0
    )
  ),
  earliest as materialized (
    select workspace_id, key_id as id, kind, place, min(number) as number from said where exists_from is null or exists_from > number
    group by workspace_id, key_id, kind, place
  ),
  added as (
    insert into identity_key (workspace_id, id, kind, exists_from, subject_id)
    select workspace_id, id, kind, number, id from earliest where place is null
  ),
  moved as (
    update identity_key as k set exists_from = least(k.exists_from, e.number) from earliest as e
    where e.place is not null and k.workspace_id is not distinct from e.workspace_id and k.ctid = e.place
  )
  select array(select a::workspace_key from altered as a), array(select k::workspace_key from (select workspace_id, id from earliest) as k)
  into changed, appeared;
  -- A name that was linked to a domain follows it.
  if cardinality(changed) > 0 then
    changed := changed || array(select unnest(keys_of(c.workspace_id, claimed_by(c.workspace_id, array[c.id], true))) from unnest(changed) as c);
  end if;
end $$;

-- The highest number of which something can be stored, but for what the running statement stores.
create or replace function newest_stored(ws uuid) returns bigint
  language sql stable as $$
  select coalesce(max(highest_number), 0) from ledger where workspace_id = ws
$$;

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
create or replace function store_all_given(given new_given[], out changed workspace_key[], out appeared workspace_key[])
  language plpgsql as $$
declare
  linked record;
begin
  changed := '{}';
  appeared := '{}';
  if cardinality(given) = 0 then return; end if;
  with earliest as materialized (
    select g.workspace_id, g.weak as id, g.kind, known.place, min(g.number) as number from unnest(given) as g
    left join lateral (
      select ctid as place, said_from from identity_key where workspace_id = g.workspace_id and id = g.weak offset 0
    ) as known on true
    where known.said_from is null or known.said_from > g.number
    group by g.workspace_id, g.weak, g.kind, known.place
  ),
  added as (
    insert into identity_key (workspace_id, id, kind, said_from, exists_from, subject_id)
    select workspace_id, id, kind, number, number, id from earliest where place is null
  ),
  moved as (
    update identity_key as k set said_from = least(k.said_from, e.number), exists_from = least(k.exists_from, e.number)
    from earliest as e
    where e.place is not null and k.workspace_id is not distinct from e.workspace_id and k.ctid = e.place
  )
  select array(select k::workspace_key from (select workspace_id, id from earliest) as k) into appeared;
  linked := store_links(given);
  changed := linked.changed;
  appeared := appeared || linked.appeared;
end $$;

-- Of one workspace.
create or replace function store_given(ws uuid, given given_reference[], out changed uuid[], out appeared uuid[])
  language plpgsql as $$
declare
  stored record;
begin
  stored := store_all_given(array(
    select g::new_given from (select ws as workspace_id, kind, weak, name_key, number from unnest(given)) as g
  ));
  changed := array(select id from unnest(stored.changed));
  appeared := array(select id from unnest(stored.appeared));
end $$;

-- Names that came with a domain are linked to it. A link that repeats the one before it changes no answer, nor does one that
-- comes after a claim: neither is kept, which would be a row in two indexes and three looks for each feedback (20 us). When a
-- link to elsewhere is put before links that were left out, the first of those is needed after all; the references that made
-- them are all still there.
create or replace function store_links(given new_given[], out changed workspace_key[], out appeared workspace_key[])
  language plpgsql as $$
declare
  links new_claim[];
  parted uuid[];
  stored record;
begin
  changed := '{}';
  appeared := '{}';
  with named as (
    select g.workspace_id, g.name_key, g.number, g.weak, lag(g.weak) over of_name as former, lag(g.number) over of_name as former_number
    from unnest(given) as g where g.name_key is not null
    window of_name as (partition by g.workspace_id, g.name_key order by g.number)
  )
  select array_agg(l::new_claim),
    array_agg(g.name_key) filter (where held.target_id <> g.weak and g.number < newest_stored(g.workspace_id))
  into links, parted
  from named as g
  left join lateral (
    select number, target_id, link from identity_claim
    where workspace_id = g.workspace_id and key_id = g.name_key and decides and number <= g.number order by number desc limit 1
  ) as held on true,
    lateral (
      select g.workspace_id as workspace_id, g.name_key as key_id, 'account_name' as kind, g.number as number, g.weak as target_id,
        true as link, true as decides
    ) as l
  where case
    when held.number is null or g.former_number > held.number then g.former is distinct from g.weak
    else held.link and held.target_id <> g.weak
  end;
  if links is null then return; end if;
  stored := store_claims(links);
  changed := stored.changed;
  appeared := stored.appeared;
  if parted is null then return; end if;
  -- The references of this batch are not stored yet. All of them count: one that repeated another of the batch may not any more, since
  -- what is restored comes between.
  perform restore_links(p.workspace_id, p.names, reach(p.workspace_id, p.names), p.fresh)
  from (
    select g.workspace_id, array_agg(distinct g.name_key) as names, array_agg(g) as fresh
    from unnest(given) as g where g.name_key = any (parted) group by g.workspace_id
  ) as p;
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
    perform restore_links(ws, names, reached, '{}'::new_given[]);
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

-- The links of a name that references in the given reach have made, and those of what is given afresh: the ones that lead elsewhere
-- than the one before.
create or replace function restore_links(ws uuid, names uuid[], reached uuid[], fresh new_given[]) returns void
  language sql as $$
  insert into identity_claim (workspace_id, key_id, number, target_id, link)
  select ws, name_key, number, weak, true
  from (
    select s.name_key, s.number, s.weak, lag(s.weak) over (partition by s.name_key order by s.number) as former
    from (
      select g.name_key, g.number, g.weak
      from references_to(ws, 'account', reached) as r, lateral (select * from given_in(r.account_ref, r.number) offset 0) as g
      where r.account_given and g.name_key = any (names)
      union all
      select f.name_key, f.number, f.weak from unnest(fresh) as f
    ) as s
  ) as links
  where former is distinct from weak
  on conflict do nothing
$$;
