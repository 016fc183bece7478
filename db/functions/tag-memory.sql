-- The memory of the tagger. tag_memory, tag_term and tag_in_use are the sums of all shares (table
-- tag_share). A share and its sums change in the same call, under the lock of the workspace's
-- progress row. Replaced feedback and removed records lose their share at once. A conversation that
-- gets messages keeps its share until it is tagged again.

-- Takes the shares of these records out of the memory, and their texts out of the search index.
create or replace function forget_shares(ws uuid, records uuid[]) returns void
  language plpgsql
  set enable_seqscan = off
as $$
begin
  perform subtract_shares(ws, records);
  perform subtract_meaning(ws, records);
  perform forget_texts(ws, records);
end $$;

-- Takes the shares of these records out of the memory.
create or replace function subtract_shares(ws uuid, records uuid[]) returns void
  language plpgsql
  set enable_seqscan = off
as $$
declare
  gone uuid[] := array(select s.record_id from tag_share as s where s.workspace_id = ws and s.record_id = any (records));
begin
  if cardinality(gone) = 0 then return; end if;
  perform count_shares(ws, gone, -1);
  delete from tag_share where workspace_id = ws and record_id = any (gone);
end $$;

-- Adds the shares of tagged records (see store_tags) that are standing.
create or replace function add_shares(ws uuid, tagger integer, tagged jsonb, standing uuid[]) returns void
  language plpgsql as $$
begin
  insert into tag_share (
    workspace_id, record_id, number, text_version, tagger_version, judged, given, terms, hashes, traits, tag_hashes, titles)
  select g.workspace_id, t.id, t.number, t.text_version, tagger, t.judged, t.given, cardinality(t.hashes), t.hashes, t.traits,
    t.tag_hashes, t.titles
  from workspace_progress as g cross join jsonb_to_recordset(tagged) as t (id uuid, number bigint, text_version text,
    judged boolean, given int, hashes bigint[], traits int[], tag_hashes bigint[], titles text[])
  where g.workspace_id = ws and t.id = any (standing);
  perform count_shares(ws, standing, 1);
end $$;

-- Adds the shares of these records to the sums (change 1), or subtracts them (change -1). Deletes
-- sums that reach zero.
create or replace function count_shares(ws uuid, records uuid[], change int) returns void
  language plpgsql as $$
begin
  insert into tag_memory as k (workspace_id, texts, judged, given, judged_terms, terms)
  select s.workspace_id, change * count(*), change * count(*) filter (where s.judged), change * sum(s.given),
    change * coalesce(sum(s.terms) filter (where s.judged), 0), change * sum(s.terms)
  from tag_share as s where s.workspace_id = ws and s.record_id = any (records)
  group by s.workspace_id
  on conflict (workspace_id) do update set
    texts = k.texts + excluded.texts, judged = k.judged + excluded.judged, given = k.given + excluded.given,
    judged_terms = k.judged_terms + excluded.judged_terms, terms = k.terms + excluded.terms;
  delete from tag_memory where workspace_id = ws and texts <= 0;
  perform count_terms(ws, records, change);
  perform count_tags_in_use(ws, records, change);
end $$;

create or replace function count_terms(ws uuid, records uuid[], change int) returns void
  language plpgsql as $$
declare
  lessened bigint[];
begin
  insert into tag_term as k (workspace_id, hash, texts, determined, free, valued, judged, given)
  select s.workspace_id, t.hash, change * count(*), change * count(*) filter (where t.traits & 1 <> 0),
    change * count(*) filter (where t.traits & 2 <> 0), change * count(*) filter (where t.traits & 4 <> 0),
    change * count(*) filter (where s.judged), change * count(*) filter (where t.traits & 8 <> 0)
  from tag_share as s cross join lateral unnest(s.hashes, s.traits) as t (hash, traits)
  where s.workspace_id = ws and s.record_id = any (records)
  group by s.workspace_id, t.hash
  on conflict (workspace_id, hash) do update set
    texts = k.texts + excluded.texts, determined = k.determined + excluded.determined, free = k.free + excluded.free,
    valued = k.valued + excluded.valued, judged = k.judged + excluded.judged, given = k.given + excluded.given;
  if change > 0 then return; end if;
  lessened := array(
    select distinct unnest(s.hashes) from tag_share as s where s.workspace_id = ws and s.record_id = any (records));
  delete from tag_term where workspace_id = ws and hash = any (lessened) and texts <= 0;
end $$;

create or replace function count_tags_in_use(ws uuid, records uuid[], change int) returns void
  language plpgsql as $$
declare
  lessened bigint[];
begin
  insert into tag_in_use as k (workspace_id, hash, title_id, title, people, generated)
  select s.workspace_id, t.hash, md5(t.title)::uuid, t.title,
    change * count(*) filter (where s.judged), change * count(*) filter (where not s.judged)
  from tag_share as s cross join lateral unnest(s.tag_hashes, s.titles) as t (hash, title)
  where s.workspace_id = ws and s.record_id = any (records)
  group by s.workspace_id, t.hash, t.title
  on conflict (workspace_id, hash, title_id) do update set
    people = k.people + excluded.people, generated = k.generated + excluded.generated;
  if change > 0 then return; end if;
  lessened := array(
    select distinct unnest(s.tag_hashes) from tag_share as s where s.workspace_id = ws and s.record_id = any (records));
  delete from tag_in_use where workspace_id = ws and hash = any (lessened) and people <= 0 and generated <= 0;
end $$;

-- Removes the oldest shares until `excess` terms are gone, but at most 10,000 shares. of_people:
-- shares of texts that people tagged; otherwise the shares of all other texts.
create or replace function forget_oldest(ws uuid, of_people boolean, excess bigint) returns void
  language plpgsql as $$
declare
  oldest uuid[];
begin
  if coalesce(excess, 0) <= 0 then return; end if;
  oldest := array(
    select record_id from (
      select record_id, sum(terms) over (order by number, record_id) - terms as before
      from (
        -- Shares without a term are rare, so `excess` shares are enough. `number > 0` lets the
        -- index tag_share_oldest serve the query.
        select record_id, number, terms from tag_share
        where workspace_id = ws and judged = of_people and number > 0 order by number, record_id limit least(excess, 10000)
      ) as by_age
    ) as summed
    where before < excess
  );
  perform subtract_shares(ws, oldest);
end $$;

-- The counts of the memory: of all texts here, of terms and of tags in use in the next functions.
-- The shares of `except_records` do not count.
create or replace function known_texts(ws uuid, except_records uuid[])
returns table (texts bigint, judged bigint, given bigint)
  language plpgsql stable
  set enable_seqscan = off
as $$
begin
  return query
    select k.texts - o.texts, k.judged - o.judged, k.given - o.given
    from tag_memory as k cross join (
      select count(*) as texts, count(*) filter (where s.judged) as judged, coalesce(sum(s.given), 0) as given
      from tag_share as s where s.workspace_id = ws and s.record_id = any (except_records)
    ) as o
    where k.workspace_id = ws;
end $$;

create or replace function known_terms(ws uuid, wanted bigint[], except_records uuid[])
returns table (hash bigint, texts int, determined int, free int, valued int, judged int, given int)
  language plpgsql stable
  set enable_seqscan = off
  set enable_bitmapscan = off
  set plan_cache_mode = force_generic_plan
as $$
begin
  return query
    with own as (
      select t.hash, count(*)::int as texts, (count(*) filter (where t.traits & 1 <> 0))::int as determined,
        (count(*) filter (where t.traits & 2 <> 0))::int as free, (count(*) filter (where t.traits & 4 <> 0))::int as valued,
        (count(*) filter (where s.judged))::int as judged, (count(*) filter (where t.traits & 8 <> 0))::int as given
      from tag_share as s cross join lateral unnest(s.hashes, s.traits) as t (hash, traits)
      where s.workspace_id = ws and s.record_id = any (except_records)
      group by t.hash
    )
    select k.hash, k.texts - coalesce(o.texts, 0), k.determined - coalesce(o.determined, 0), k.free - coalesce(o.free, 0),
      k.valued - coalesce(o.valued, 0), k.judged - coalesce(o.judged, 0), k.given - coalesce(o.given, 0)
    from tag_term as k left join own as o on o.hash = k.hash
    where k.workspace_id = ws and k.hash = any (wanted) and k.texts > coalesce(o.texts, 0);
end $$;

create or replace function known_tags(ws uuid, wanted bigint[], except_records uuid[])
returns table (hash bigint, title text, people int, generated int)
  language plpgsql stable
  set enable_seqscan = off
  set enable_bitmapscan = off
  set plan_cache_mode = force_generic_plan
as $$
begin
  return query
    with own as (
      select t.hash, t.title, (count(*) filter (where s.judged))::int as people,
        (count(*) filter (where not s.judged))::int as generated
      from tag_share as s cross join lateral unnest(s.tag_hashes, s.titles) as t (hash, title)
      where s.workspace_id = ws and s.record_id = any (except_records)
      group by t.hash, t.title
    )
    select k.hash, k.title, k.people - coalesce(o.people, 0), k.generated - coalesce(o.generated, 0)
    from tag_in_use as k left join own as o on o.hash = k.hash and o.title = k.title
    where k.workspace_id = ws and k.hash = any (wanted)
      and (k.people > coalesce(o.people, 0) or k.generated > coalesce(o.generated, 0));
end $$;
