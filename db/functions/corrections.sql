-- Corrections of feedback by people. The columns of a feedback have the values that reads show: what
-- a person set, else what the source sent. While something is corrected, `uncorrected` keeps what
-- the source sent, also through replacements (`put_feedback`). So an undone correction restores the
-- row, but for its change position and for correction_numbers. updated_at is the time of the source.

-- Saves the corrections of a save, record by record, since they are rare. Each record exists.
create or replace function save_corrections(sole uuid[], corrected jsonb) returns void
  language plpgsql as $$
declare
  c record;
begin
  for c in
    select g.workspace_id, r.id, r.corrections, r.numbers, r.former_tags
    from jsonb_to_recordset(corrected) as r (
      workspace_id uuid, id uuid, corrections jsonb, numbers jsonb, former_tags text[])
    join workspace_progress as g on g.workspace_id = r.workspace_id
    where (sole is null or g.workspace_id = any (sole))
  loop
    perform correct_feedback(c.workspace_id, c.id, c.corrections, c.numbers, c.former_tags);
  end loop;
end $$;

-- Corrects a feedback. given: the values by member; null undoes the correction of this member.
-- former_tags: the segment has set these tags and replaced them. Other strides would have shown these
-- tags, and those of the source after an undone correction. So they count as gained and lost, as in
-- `forget_replaced`.
create or replace function correct_feedback(ws uuid, feedback_id uuid, given jsonb, numbers jsonb, former_tags text[]) returns void
  language plpgsql as $$
declare
  f feedback;
  sent jsonb;
  held jsonb;
  shown jsonb;
  at bigint;
begin
  perform take_off_sums(ws, array[feedback_id]);
  select * into f from feedback where workspace_id = ws and id = feedback_id;
  sent := coalesce(f.uncorrected,
    sent_values(f.rating, case when not f.tags_generated then f.tags end) || found_values(f.kind, f.theme_id, f.theme_by));
  held := jsonb_strip_nulls(coalesce(f.corrections, '{}') || given);
  if given ? 'tags' and f.corrections ? 'tags' then former_tags := former_tags || tags_in(sent -> 'tags'); end if;
  perform count_tags(ws, former_tags, former_tags);
  if (held -> 'tags') is distinct from (f.corrections -> 'tags') then
    f := with_tags(ws, f, coalesce(held -> 'tags', sent -> 'tags'));
  end if;
  if given ?| array['kind', 'themeId'] then perform subtract_meaning(ws, array[feedback_id]); end if;
  shown := sent || held || case when held ? 'themeId' then '{"themeBy": "person"}' else '{}' end::jsonb;
  perform from theme as t where t.workspace_id = ws and t.id = (shown ->> 'themeId')::uuid;
  -- The theme from before the correction can be gone. Then the tagger finds another one.
  if not found then shown := shown || '{"themeId": null, "themeBy": null}'; end if;
  numbers := coalesce(f.correction_numbers, '{}') || numbers;
  at := reserve_positions(ws, 1) + 1;
  update feedback set
    tags = f.tags, tags_generated = f.tags_generated, tagger_version = f.tagger_version,
    rating = (shown ->> 'rating')::double precision, is_hidden = coalesce((held ->> 'isHidden')::boolean, false),
    kind = shown ->> 'kind', theme_id = (shown ->> 'themeId')::uuid, theme_by = shown ->> 'themeBy',
    corrections = nullif(held, '{}'), uncorrected = case when held <> '{}' then sent end, correction_numbers = numbers,
    change_position = at
  where workspace_id = ws and id = feedback_id;
end $$;

-- Gives a feedback other tags of people; a JSON null lets the tagger generate them. Counts the tags,
-- and takes the share of the text out of the tag memory.
create or replace function with_tags(ws uuid, f feedback, new_tags jsonb) returns feedback
  language plpgsql as $$
declare
  former text[] := coalesce(f.tags, '{}');
begin
  f.tags := tags_in(new_tags);
  f.tags_generated := f.tags is null;
  f.tagger_version := null;
  perform subtract_shares(ws, array[f.id]);
  perform count_tags(ws, coalesce(f.tags, '{}'), former);
  return f;
end $$;

-- The values of a source, as `uncorrected` keeps them. It is immutable, which Citus asks of what an
-- `on conflict` calls. The parameters are in the order of their names.
create or replace function sent_values(rating double precision, tags text[]) returns jsonb
  language sql immutable parallel safe as $$
  select jsonb_build_object('tags', tags, 'rating', rating)
$$;

-- The same for what the service has found in a text.
create or replace function found_values(kind text, theme_id uuid, theme_by text) returns jsonb
  language sql immutable parallel safe as $$
  select jsonb_build_object('kind', kind, 'themeId', theme_id, 'themeBy', theme_by)
$$;

-- What stays of these values when the source sends a record again: the theme, if the text is the same.
create or replace function kept_values(uncorrected jsonb, is_same_text boolean) returns jsonb
  language sql immutable parallel safe as $$
  select jsonb_build_object('kind', null, 'themeId', case when is_same_text then uncorrected -> 'themeId' end,
    'themeBy', case when is_same_text then uncorrected -> 'themeBy' end)
$$;

-- The tags in a JSON array; null for another value.
create or replace function tags_in(given jsonb) returns text[]
  language sql immutable parallel safe as $$
  select case when jsonb_typeof(given) = 'array' then array(select jsonb_array_elements_text(given)) end
$$;

-- The version of a text and of what a person has set on it, for the tagger.
create or replace function tagged_version(number bigint, corrections jsonb) returns text
  language sql immutable parallel safe as $$
  select number || coalesce(':' || md5(nullif(jsonb_strip_nulls(jsonb_build_object(
    'tags', corrections -> 'tags', 'kind', corrections -> 'kind', 'themeId', corrections -> 'themeId')), '{}')::text), '')
$$;
