-- Themes and their edits by people. Feedback and conversations have the theme that they were given;
-- reads show `shown_id` of this theme, so an edit is seen on all texts at once.

-- Saves the edits of a save, in their order.
create or replace function save_themes(sole uuid[], edits jsonb) returns void
  language plpgsql as $$
declare
  e record;
begin
  for e in
    select g.workspace_id, r.id, r.is_new, r.given, r.numbers, g.saved_position + r.change_position as at
    from jsonb_to_recordset(edits) as r (
      workspace_id uuid, id uuid, is_new boolean, given jsonb, numbers jsonb, change_position bigint)
    join workspace_progress as g on g.workspace_id = r.workspace_id
    where (sole is null or g.workspace_id = any (sole))
    order by r.change_position
  loop
    if e.is_new then perform open_theme(e.workspace_id, e.id, null, null, e.at); end if;
    perform edit_theme(e.workspace_id, e.id, e.given, e.numbers, e.at);
  end loop;
end $$;

create or replace function open_theme(ws uuid, theme_id uuid, tag bigint, tag_title text, at bigint) returns void
  language plpgsql as $$
declare
  next_number integer := (select coalesce(max(t.number), 0) + 1 from theme as t where t.workspace_id = ws);
begin
  insert into theme (workspace_id, id, number, tag_hash, title, shown_id, change_position)
  select g.workspace_id, theme_id, next_number, tag, tag_title, theme_id, at from workspace_progress as g where g.workspace_id = ws;
end $$;

-- given: the values by member; null undoes the edit of this member.
create or replace function edit_theme(ws uuid, theme_id uuid, given jsonb, numbers jsonb, at bigint) returns void
  language plpgsql as $$
declare
  target uuid := (given ->> 'mergedInto')::uuid;
begin
  if target is not null then perform end_circle(ws, theme_id, target); end if;
  update theme as t set
    given_name = case when given ? 'name' then given ->> 'name' else t.given_name end,
    is_hidden = case when given ? 'isHidden' then coalesce((given ->> 'isHidden')::boolean, false) else t.is_hidden end,
    merged_into = case when given ? 'mergedInto' then target else t.merged_into end,
    edit_numbers = coalesce(t.edit_numbers, '{}') || numbers, change_position = at
  where t.workspace_id = ws and t.id = theme_id;
  if given ? 'mergedInto' then perform show_themes(ws); end if;
end $$;

-- If the target of a merge has been merged into the theme, also by others, that merge ends.
create or replace function end_circle(ws uuid, theme_id uuid, target uuid) returns void
  language plpgsql as $$
declare
  at uuid := target;
  next uuid;
  ended_at bigint := reserve_positions(ws, 1) + 1;
begin
  loop
    select t.merged_into into next from theme as t where t.workspace_id = ws and t.id = at;
    if next is null then return; end if;
    exit when next = theme_id;
    at := next;
  end loop;
  update theme as t set merged_into = null, change_position = ended_at where t.workspace_id = ws and t.id = at;
end $$;

-- Sets `shown_id` of all themes: the end of their merges.
create or replace function show_themes(ws uuid) returns void
  language plpgsql as $$
declare
  t record;
  shown uuid;
  next uuid;
begin
  for t in select k.id, k.shown_id from theme as k where k.workspace_id = ws loop
    shown := t.id;
    loop
      select k.merged_into into next from theme as k where k.workspace_id = ws and k.id = shown;
      exit when next is null;
      shown := next;
    end loop;
    if shown <> t.shown_id then update theme as k set shown_id = shown where k.workspace_id = ws and k.id = t.id; end if;
  end loop;
end $$;

-- Takes titles that no text of the workspace has any more from the themes that they name. Such a theme
-- takes the commonest other tag of its texts. A title is a tag as the tagger reads it, which people
-- spell in many ways, so the memory of the tagger tells whether a text has it. The memory forgets old
-- texts, so the categories tell it as well.
create or replace function lose_titles(ws uuid) returns void
  language plpgsql
  set enable_seqscan = off
as $$
declare
  t record;
  at bigint;
begin
  for t in
    select k.id from theme as k where k.workspace_id = ws and k.title is not null
      and not exists (select from tag_in_use as u where u.workspace_id = ws and u.hash = k.tag_hash)
      and not exists (select from feedback_category as c where c.workspace_id = ws and c.id = category_id(ws, k.title))
      and not exists (select from feedback_category as c where c.workspace_id = ws and lower(c.title) = k.title)
  loop
    at := reserve_positions(ws, 1) + 1;
    update theme as k set tag_hash = null, title = null, change_position = at
    where k.workspace_id = ws and k.id = t.id;
    perform name_theme(ws, t.id);
  end loop;
end $$;

-- Names a theme by the commonest tag of some of its texts that names no other theme.
create or replace function name_theme(ws uuid, theme_id uuid) returns void
  language plpgsql
  set enable_seqscan = off
as $$
declare
  named record;
  at bigint;
begin
  select u.hash, u.title into named
  from (
    (select f.id from feedback as f where f.workspace_id = ws and f.theme_id = name_theme.theme_id
    order by f.created_at desc, f.id desc limit 200)
    union all
    (select c.id from conversation as c where c.workspace_id = ws and c.theme_id = name_theme.theme_id limit 200)
  ) as f
  cross join lateral (
    select s.tag_hashes, s.titles from tag_share as s where s.workspace_id = ws and s.record_id = f.id offset 0
  ) as s
  cross join lateral unnest(s.tag_hashes, s.titles) as u (hash, title)
  where not exists (select from theme as t where t.workspace_id = ws and t.tag_hash = u.hash)
  group by u.hash, u.title order by count(*) desc, u.title limit 1;
  if not found then return; end if;
  at := reserve_positions(ws, 1) + 1;
  update theme as t set tag_hash = named.hash, title = named.title, change_position = at
  where t.workspace_id = ws and t.id = name_theme.theme_id;
end $$;

-- Names the themes that lost their name when a source sent their last text again.
create or replace function name_nameless_themes(ws uuid) returns void
  language plpgsql
  set enable_seqscan = off
as $$
declare
  nameless uuid;
begin
  for nameless in select t.id from theme as t where t.workspace_id = ws and t.name is null loop
    perform name_theme(ws, nameless);
  end loop;
end $$;

-- Removes themes without a text that no person has named, hidden or merged, and those without a name.
create or replace function end_empty_themes(ws uuid) returns void
  language plpgsql
  set enable_seqscan = off
as $$
declare
  ended uuid[] := array(
    select t.id from theme as t where t.workspace_id = ws
      and (t.name is null or t.given_name is null and not t.is_hidden and t.merged_into is null)
      and not exists (select from feedback as f where f.workspace_id = ws and f.theme_id = t.id)
      and not exists (select from conversation as c where c.workspace_id = ws and c.theme_id = t.id)
      and not exists (select from theme as o where o.workspace_id = ws and o.merged_into = t.id));
begin
  if cardinality(ended) = 0 then return; end if;
  delete from theme where workspace_id = ws and id = any (ended);
  perform add_tombstones(ws, 'theme', ended);
  perform end_alerts(ws, 'theme', ended);
end $$;
