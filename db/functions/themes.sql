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
begin
  loop
    select t.merged_into into next from theme as t where t.workspace_id = ws and t.id = at;
    if next is null then return; end if;
    exit when next = theme_id;
    at := next;
  end loop;
  update theme as t set merged_into = null, change_position = reserve_positions(ws, 1) + 1 where t.workspace_id = ws and t.id = at;
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
