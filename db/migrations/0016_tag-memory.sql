-- What a workspace's texts have taught the tagger. Every text has a share: its terms under keyed hashes (db/tag-hashes.ts) and the
-- tags that it carries. The tables below are the sums of all shares, kept by triggers, in whole numbers: a share that goes is
-- taken out to the last count, and a workspace that never had it looks the same. Shares are never updated, only replaced.
create table tag_share (
  workspace_id uuid not null,
  record_id uuid not null,
  -- By acceptance: the oldest shares go first.
  number bigint not null,
  -- Of the text and of the tagger that made it.
  text_version text not null,
  tagger_version int not null,
  -- Whether people tagged the text, and with how many tags.
  judged boolean not null,
  given int not null,
  terms int not null,
  hashes bigint[] not null,
  -- For each hash: 1 after a determiner, 2 by itself, 4 with praise or blame, 8 in a tag that people gave.
  traits int[] not null,
  -- The tags, each as a term and as it is written.
  tag_hashes bigint[] not null,
  titles text[] not null,
  primary key (workspace_id, record_id)
);
-- The workspace is not its first column, so that nobody who looks for a record takes it for as good as the primary key.
create index tag_share_oldest on tag_share (judged, workspace_id, number, record_id) include (terms);

create table tag_memory (
  workspace_id uuid not null,
  texts bigint not null,
  judged bigint not null,
  given bigint not null,
  -- Terms of all shares together, of texts that people tagged and of all.
  judged_terms bigint not null,
  terms bigint not null,
  primary key (workspace_id)
);

create table tag_term (
  workspace_id uuid not null,
  hash bigint not null,
  texts int not null,
  determined int not null,
  free int not null,
  valued int not null,
  judged int not null,
  given int not null,
  primary key (workspace_id, hash)
);

-- title_id: titles can exceed what an index row holds.
create table tag_in_use (
  workspace_id uuid not null,
  hash bigint not null,
  title_id uuid not null,
  title text not null,
  people int not null,
  generated int not null,
  primary key (workspace_id, hash, title_id)
);

-- Planner statistics would keep what people have said until the next analyze.
alter table tag_share alter column titles set statistics 0;
alter table tag_share alter column hashes set statistics 0;
alter table tag_share alter column tag_hashes set statistics 0;
alter table tag_in_use alter column title set statistics 0;

-- Rows are written in the order of their hashes, besides the workspace's lock that every writer of shares holds.
create function count_shares() returns trigger
  language plpgsql as $$
declare
  change int := case tg_op when 'INSERT' then 1 else -1 end;
  ws uuid;
  emptied bigint[];
begin
  for ws in select distinct workspace_id from shares order by workspace_id loop
    insert into tag_memory as k (workspace_id, texts, judged, given, judged_terms, terms)
    select ws, change * count(*), change * count(*) filter (where judged), change * sum(given),
      change * coalesce(sum(terms) filter (where judged), 0), change * sum(terms)
    from shares where workspace_id = ws
    on conflict (workspace_id) do update set
      texts = k.texts + excluded.texts, judged = k.judged + excluded.judged, given = k.given + excluded.given,
      judged_terms = k.judged_terms + excluded.judged_terms, terms = k.terms + excluded.terms;
    delete from tag_memory where workspace_id = ws and texts <= 0;
    with changed as (
      insert into tag_term as k (workspace_id, hash, texts, determined, free, valued, judged, given)
      select ws, t.hash, change * count(*), change * count(*) filter (where t.traits & 1 <> 0),
        change * count(*) filter (where t.traits & 2 <> 0), change * count(*) filter (where t.traits & 4 <> 0),
        change * count(*) filter (where s.judged), change * count(*) filter (where t.traits & 8 <> 0)
      from shares as s, unnest(s.hashes, s.traits) as t (hash, traits)
      where s.workspace_id = ws
      group by t.hash order by t.hash
      on conflict (workspace_id, hash) do update set
        texts = k.texts + excluded.texts, determined = k.determined + excluded.determined, free = k.free + excluded.free,
        valued = k.valued + excluded.valued, judged = k.judged + excluded.judged, given = k.given + excluded.given
      returning hash, texts
    )
    select array_agg(hash) filter (where texts <= 0) into emptied from changed;
    delete from tag_term where workspace_id = ws and hash = any (emptied);
    with changed as (
      insert into tag_in_use as k (workspace_id, hash, title_id, title, people, generated)
      select ws, t.hash, md5(t.title)::uuid, t.title,
        change * count(*) filter (where s.judged), change * count(*) filter (where not s.judged)
      from shares as s, unnest(s.tag_hashes, s.titles) as t (hash, title)
      where s.workspace_id = ws
      group by t.hash, t.title order by t.hash, md5(t.title)
      on conflict (workspace_id, hash, title_id) do update set
        people = k.people + excluded.people, generated = k.generated + excluded.generated
      returning hash, people + generated as uses
    )
    select array_agg(distinct hash) filter (where uses <= 0) into emptied from changed;
    delete from tag_in_use where workspace_id = ws and hash = any (emptied) and people <= 0 and generated <= 0;
  end loop;
  return null;
end $$;

create trigger count_new_shares after insert on tag_share
  referencing new table as shares for each statement execute function count_shares();
create trigger count_gone_shares after delete on tag_share
  referencing old table as shares for each statement execute function count_shares();

create function take_out(ws uuid, records uuid[]) returns void
  language plpgsql as $$
begin
  delete from tag_share where workspace_id is not distinct from ws and ctid = any (array(
    select s.place from unnest(records) as r (id),
      lateral (select ctid as place from tag_share where workspace_id = ws and record_id = r.id offset 0) as s
  ));
end $$;

-- With a record goes its share, whatever removes the record.
create function take_out_shares() returns trigger
  language plpgsql as $$
declare
  ws uuid;
  ids uuid[];
begin
  for ws, ids in select workspace_id, array_agg(id) from gone group by workspace_id order by workspace_id loop
    perform take_out(ws, ids);
  end loop;
  return null;
end $$;
create trigger take_out_shares after delete on feedback
  referencing old table as gone for each statement execute function take_out_shares();
create trigger take_out_shares after delete on conversation
  referencing old table as gone for each statement execute function take_out_shares();

-- The tagger that generated a record's tags; null when people gave them, or none has seen it yet.
alter table feedback add column tagger_version int;
alter table conversation add column tagger_version int;

-- Names no columns of a feedback by their places, so that the one added above takes the place of none.
-- Most weak keys have no claim and mean themselves. Asked here and not by a call of resolve for each slot.
create or replace function answer_feedback(ws uuid, incoming feedback[]) returns answered_feedback[]
  language plpgsql stable as $$
begin
  return array(
    select row(
      f.number > coalesce(held.number, 0) and row_number() over (partition by f.id order by f.number desc) = 1,
      held.number is not null,
      (c.answer).id, (a.answer).id, (p.answer).id, (c.answer).given, (a.answer).given, (p.answer).given,
      (c.answer).missed || (a.answer).missed || (p.answer).missed
    )::answered_feedback
    from unnest(incoming) with ordinality as f
    left join lateral (select k.number from feedback as k where k.workspace_id = ws and k.id = f.id offset 0) as held on true,
      lateral (
        select case
          when f.contact_ref is null then row(null, false, '{}')::resolution
          when not f.contact_ref ? 'ids' and not exists (
            select from identity_claim as i where i.workspace_id = ws and i.key_id = (f.contact_ref ->> 'weak')::uuid offset 0
          ) then row((f.contact_ref ->> 'weak')::uuid, true, '{}')::resolution
          else resolve(ws, 'contact', f.contact_ref, f.number, f.source)
        end as answer
        offset 0
      ) as c,
      lateral (
        select case
          when f.account_ref is null then row(null, false, '{}')::resolution
          when not f.account_ref ? 'ids' and not exists (
            select from identity_claim as i where i.workspace_id = ws and i.key_id = (f.account_ref ->> 'weak')::uuid offset 0
          ) then row((f.account_ref ->> 'weak')::uuid, true, '{}')::resolution
          else resolve(ws, 'account', f.account_ref, f.number, f.source)
        end as answer
        offset 0
      ) as a,
      lateral (
        select case
          when f.project_ref is null then row(null, false, '{}')::resolution
          when not f.project_ref ? 'ids' then row((f.project_ref ->> 'weak')::uuid, true, '{}')::resolution
          else resolve(ws, 'project', f.project_ref, f.number, f.source)
        end as answer
        offset 0
      ) as p
    order by f.ordinality
  );
end $$;

-- Another feedback takes the place: its text is not the one that was learned from. Its tags come with it, or are generated anew.
create function forget_tagger() returns trigger
  language plpgsql as $$
begin
  new.tagger_version := null;
  return new;
end $$;
create trigger forget_tagger before update of number on feedback
  for each row when (old.number <> new.number and old.tagger_version is not null) execute function forget_tagger();

create function take_out_replaced() returns trigger
  language plpgsql as $$
declare
  ws uuid;
  ids uuid[];
begin
  for ws, ids in
    select b.workspace_id, array_agg(b.id)
    from before_rows as b join after_rows as a on a.workspace_id = b.workspace_id and a.id = b.id and a.number <> b.number
    group by b.workspace_id order by b.workspace_id
  loop
    perform take_out(ws, ids);
  end loop;
  return null;
end $$;
create trigger take_out_replaced after update on feedback
  referencing old table as before_rows new table as after_rows for each statement execute function take_out_replaced();

-- A purge that takes messages out of a conversation takes its tags (remove_from_conversations): what it taught goes as well.
create function take_out_shortened() returns trigger
  language plpgsql as $$
declare
  ws uuid;
  ids uuid[];
begin
  for ws, ids in
    select workspace_id, array_agg(distinct conversation_id) from gone group by workspace_id order by workspace_id
  loop
    perform take_out(ws, ids);
  end loop;
  return null;
end $$;
create trigger take_out_shortened after delete on message
  referencing old table as gone for each statement execute function take_out_shortened();
create trigger forget_tagger before update of tags on conversation
  for each row when (new.tags is null and old.tagger_version is not null) execute function forget_tagger();

-- A conversation's text as tags are made from it, and what changes with it: a message can be replaced, or come, by a submission
-- that is older than the conversation's.
create function conversation_text(ws uuid, conversation uuid, out version text, out content text)
  language sql stable as $$
  select md5(coalesce(string_agg(m.id || ' ' || m.number, ',' order by m.id), '')),
    coalesce(string_agg(m.content, E'\n' order by m.created_at, m.id), '')
  from message as m
  where m.workspace_id is not distinct from ws and m.conversation_id = conversation and m.incoming
$$;

-- The texts of those records that this tagger has not read yet; `again` those that it has, too, but for what people tagged.
drop function untagged;
create function texts_to_read(ws uuid, feedback_ids uuid[], conversation_ids uuid[], tagger int, again boolean)
returns table (record text, id uuid, number bigint, text_version text, tags text[], text text)
  language sql stable
  set enable_seqscan = off
  set enable_bitmapscan = off
  as $$
  select w.* from (
    select 'feedback', f.id, f.number, f.number::text as version, case when f.tags_generated then null else f.tags end,
      concat_ws(E'\n', f.title, f.description)
    from feedback as f
    where f.workspace_id = ws and f.id = any (feedback_ids) and (f.tags_generated or (not again and f.tags <> '{}'))
    union all
    select 'conversation', c.id, c.number, t.version, null, t.content
    from conversation as c, conversation_text(ws, c.id) as t
    where c.workspace_id = ws and c.id = any (conversation_ids)
  ) as w
  where again or not exists (
    select from tag_share as s
    where s.workspace_id = ws and s.record_id = w.id and s.text_version = w.version and s.tagger_version = tagger
    offset 0
  )
$$;

-- A record that a tagger has read: its tags, and its share.
create type tagged_record as (
  record text,
  id uuid,
  number bigint,
  text_version text,
  tags text[],
  judged boolean,
  given int,
  hashes bigint[],
  traits int[],
  tag_hashes bigint[],
  titles text[]
);

-- Keeps generated tags and what the texts have taught, those of records whose text is still the one that was read. Tags that a
-- tagger gave before are replaced, people's never. Doing it again changes nothing. Returns how many records it kept. The function
-- of this name with two parameters is that of the version before, which may still run; what it keeps, retagging finds.
create function store_tags(ws uuid, tagger int, tagged jsonb, most_terms bigint) returns int
  language plpgsql
  set enable_seqscan = off
  set enable_bitmapscan = off
  as $$
declare
  standing tagged_record[];
  ids uuid[];
  deltas jsonb;
  memory tag_memory;
begin
  perform lock_workspaces(array[ws]);
  standing := array(
    select t from jsonb_populate_recordset(null::tagged_record, tagged) as t
    where case t.record
      when 'feedback' then exists (
        select from feedback as f
        where f.workspace_id = ws and f.id = t.id and f.number::text = t.text_version and f.tags_generated <> t.judged
        offset 0
      )
      else (
        exists (select from conversation as c where c.workspace_id = ws and c.id = t.id offset 0)
        and (conversation_text(ws, t.id)).version = t.text_version
      )
    end
    order by t.id
  );
  ids := array(select id from unnest(standing));
  select jsonb_object_agg(title, delta) into deltas
  from (
    select title, sum(uses) as delta
    from (
      select g.title, 1 as uses from unnest(standing) as t, unnest(t.tags) as g (title) where not t.judged
      union all
      select unnest(tags), -1 from feedback where workspace_id = ws and id = any (ids) and tags_generated
      union all
      select unnest(tags), -1 from conversation where workspace_id = ws and id = any (ids)
    ) as changes
    group by title having sum(uses) <> 0
  ) as summed;
  update feedback as f set tags = t.tags, tagger_version = tagger
  from unnest(standing) as t, lateral (select ctid as place from feedback where workspace_id = ws and id = t.id offset 0) as held
  where not t.judged and t.record = 'feedback' and f.workspace_id is not distinct from ws and f.ctid = held.place;
  update conversation as c set tags = t.tags, tagger_version = tagger
  from unnest(standing) as t, lateral (select ctid as place from conversation where workspace_id = ws and id = t.id offset 0) as held
  where t.record = 'conversation' and c.workspace_id is not distinct from ws and c.ctid = held.place;
  if deltas is not null then
    perform count_tags(ws, deltas);
  end if;
  perform take_out(ws, ids);
  insert into tag_share (
    workspace_id, record_id, number, text_version, tagger_version, judged, given, terms, hashes, traits, tag_hashes, titles)
  select ws, id, number, text_version, tagger, judged, given, cardinality(hashes), hashes, traits, tag_hashes, titles
  from unnest(standing);
  select * into memory from tag_memory where workspace_id = ws;
  perform forget_oldest(ws, true, memory.judged_terms - most_terms);
  perform forget_oldest(ws, false, memory.terms - memory.judged_terms - most_terms);
  return cardinality(ids);
end $$;

-- Takes the oldest shares out, of texts that people tagged or of the others, until so many terms are gone.
create function forget_oldest(ws uuid, of_people boolean, excess bigint) returns void
  language plpgsql as $$
begin
  if coalesce(excess, 0) <= 0 then return; end if;
  perform take_out(ws, array(
    select record_id from (
      select record_id, sum(terms) over (order by number, record_id) - terms as before
      from (
        -- A share has a term or more, but for texts that say nothing: a bound to what one call looks at.
        select record_id, number, terms from tag_share
        where workspace_id = ws and judged = of_people order by number, record_id limit least(excess, 10000)
      ) as oldest
    ) as summed
    where before < excess
  ));
end $$;

create function shares_of(ws uuid, records uuid[]) returns setof tag_share
  language sql stable as $$
  select s.* from unnest(records) as r (id),
    lateral (select * from tag_share where workspace_id = ws and record_id = r.id offset 0) as s
$$;

-- What the memory says about terms, and the tags in use that have them as their keys. The shares of some records do not count.
create function known_texts(ws uuid, except_records uuid[])
returns table (texts bigint, judged bigint, given bigint)
  language sql stable
  as $$
  select k.texts - o.texts, k.judged - o.judged, k.given - o.given
  from tag_memory as k, (
    select count(*) as texts, count(*) filter (where s.judged) as judged, coalesce(sum(s.given), 0) as given
    from shares_of(ws, except_records) as s
  ) as o
  where k.workspace_id = ws
$$;

create function known_terms(ws uuid, wanted bigint[], except_records uuid[])
returns table (hash bigint, texts int, determined int, free int, valued int, judged int, given int)
  language sql stable
  set enable_seqscan = off
  set enable_bitmapscan = off
  as $$
  with own as (
    select t.hash, count(*)::int as texts, (count(*) filter (where t.traits & 1 <> 0))::int as determined,
      (count(*) filter (where t.traits & 2 <> 0))::int as free, (count(*) filter (where t.traits & 4 <> 0))::int as valued,
      (count(*) filter (where s.judged))::int as judged, (count(*) filter (where t.traits & 8 <> 0))::int as given
    from shares_of(ws, except_records) as s, unnest(s.hashes, s.traits) as t (hash, traits)
    group by t.hash
  )
  select k.hash, k.texts - coalesce(o.texts, 0), k.determined - coalesce(o.determined, 0), k.free - coalesce(o.free, 0),
    k.valued - coalesce(o.valued, 0), k.judged - coalesce(o.judged, 0), k.given - coalesce(o.given, 0)
  from tag_term as k left join own as o on o.hash = k.hash
  where k.workspace_id = ws and k.hash = any (wanted) and k.texts > coalesce(o.texts, 0)
$$;

create function known_tags(ws uuid, wanted bigint[], except_records uuid[])
returns table (hash bigint, title text, people int, generated int)
  language sql stable
  set enable_seqscan = off
  set enable_bitmapscan = off
  as $$
  with own as (
    select t.hash, t.title, (count(*) filter (where s.judged))::int as people,
      (count(*) filter (where not s.judged))::int as generated
    from shares_of(ws, except_records) as s, unnest(s.tag_hashes, s.titles) as t (hash, title)
    group by t.hash, t.title
  )
  select k.hash, k.title, k.people - coalesce(o.people, 0), k.generated - coalesce(o.generated, 0)
  from tag_in_use as k left join own as o on o.hash = k.hash and o.title = k.title
  where k.workspace_id = ws and k.hash = any (wanted)
    and (k.people > coalesce(o.people, 0) or k.generated > coalesce(o.generated, 0))
$$;
