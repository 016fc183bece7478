-- Made by `npm run records` from contract/records/. Do not edit it.
--
-- X_json gives a record as JSON text; null if it does not exist. Members without a value are left out.
-- Y_jsons gives several records of a view. Each call makes its own plan, since a plan from the time of
-- empty tables joins with all rows of a workspace. Several records share the cost of the plan.

create or replace function account_json(ws uuid, record_id uuid) returns text
  language plpgsql stable as $$
declare
  joined_1 text := external_ids_of_account(ws, record_id);
begin
  return (
    select concat('{', concat_ws(',',
    '"id":' || to_json(t.id), '"domain":' || to_json(t.domain), '"name":' || to_json(t.name),
    '"contractValue":' || to_json(t.contract_value), '"sourceCreatedAt":' || json_time(t.source_created_at),
    '"sourceUpdatedAt":' || json_time(t.source_updated_at), '"properties":' || t.properties::text,
    '"createdAt":' || json_time(t.created_at), '"updatedAt":' || json_time(t.updated_at), '"externalIds":' || joined_1
    ), '}')
    from account as t where t.workspace_id = ws and t.id = record_id
  );
end $$;

create or replace function customer_json(ws uuid, record_id uuid) returns text
  language plpgsql stable as $$
declare
  joined_1 text := external_ids_of_contact(ws, record_id);
begin
  return (
    select concat('{', concat_ws(',',
    '"id":' || to_json(t.id), '"email":' || to_json(t.email), '"accountId":' || to_json(t.account_id),
    '"name":' || to_json(t.name), '"contractValue":' || to_json(t.contract_value),
    '"sourceCreatedAt":' || json_time(t.source_created_at), '"sourceUpdatedAt":' || json_time(t.source_updated_at),
    '"properties":' || t.properties::text, '"createdAt":' || json_time(t.created_at), '"updatedAt":' || json_time(t.updated_at),
    '"externalIds":' || joined_1
    ), '}')
    from contact as t where t.workspace_id = ws and t.id = record_id
  );
end $$;

create or replace function project_json(ws uuid, record_id uuid) returns text
  language plpgsql stable as $$
begin
  return (
    select concat('{', concat_ws(',',
    '"id":' || to_json(t.id), '"name":' || to_json(t.name), '"description":' || to_json(t.description),
    '"createdAt":' || json_time(t.created_at)
    ), '}')
    from project as t where t.workspace_id = ws and t.id = record_id
  );
end $$;

create or replace function feedback_jsons(ws uuid, ids uuid[]) returns table (record_id uuid, record text)
  language plpgsql stable
  set enable_seqscan = off
  set enable_bitmapscan = off
  set enable_hashjoin = off
  set enable_mergejoin = off
  set enable_material = off
  set plan_cache_mode = force_custom_plan
as $$
begin
  return query
    select t.id, concat('{', concat_ws(',',
    '"id":' || to_json(t.id), '"description":' || to_json(t.description), '"customerId":' || to_json(t.contact_id),
    '"projectId":' || to_json(t.project_id), '"rating":' || to_json(t.rating), '"sourceId":' || to_json(t.source_id),
    '"sourceData":' || t.source_data::text, '"title":' || to_json(t.title), '"isTranscript":' || to_json(t.is_transcript),
    '"tags":' || to_json(t.tags), '"tagsGenerated":' || to_json(t.tags_generated), '"mood":' || to_json(t.mood),
    '"kind":' || to_json(t.kind), '"themeId":' || to_json(t.theme_id), '"themeBy":' || to_json(t.theme_by),
    '"similarId":' || to_json(t.similar_id), '"themeName":' || to_json(t.theme_name), '"source":' || to_json(t.source),
    '"accountId":' || to_json(t.account_id), '"customerName":' || to_json(t.contact_name),
    '"accountName":' || to_json(t.account_name), '"projectName":' || to_json(t.project_name),
    '"satisfaction":' || to_json(t.satisfaction), '"fields":' || t.fields::text, '"isHidden":' || to_json(t.is_hidden),
    '"createdAt":' || json_time(t.created_at), '"acceptedAt":' || json_time(t.accepted_at),
    '"updatedAt":' || json_time(t.updated_at)
    ), '}')
    from feedback_view as t where t.workspace_id = ws and t.id = any (ids);
end $$;

create or replace function conversation_json(ws uuid, record_id uuid) returns text
  language plpgsql stable as $$
declare
  joined_1 text := customer_ids_of(ws, record_id);
  joined_2 text := theme_of_conversation(ws, record_id);
begin
  return (
    select concat('{', concat_ws(',',
    '"id":' || to_json(t.id), '"title":' || to_json(t.title), '"source":' || to_json(t.source),
    '"externalId":' || to_json(t.external_id), '"rating":' || to_json(t.rating), '"tags":' || to_json(t.tags),
    '"mood":' || to_json(t.mood), '"kind":' || to_json(t.kind), '"properties":' || t.properties::text,
    '"createdAt":' || json_time(t.created_at), '"updatedAt":' || json_time(t.updated_at), '"customerIds":' || joined_1,
    '"themeId":' || joined_2
    ), '}')
    from conversation as t where t.workspace_id = ws and t.id = record_id
  );
end $$;

create or replace function message_json(ws uuid, record_id uuid) returns text
  language plpgsql stable as $$
begin
  return (
    select concat('{', concat_ws(',',
    '"id":' || to_json(t.id), '"conversationId":' || to_json(t.conversation_id), '"externalId":' || to_json(t.external_id),
    '"incoming":' || to_json(t.incoming), '"customerId":' || to_json(t.contact_id), '"content":' || to_json(t.content),
    '"sourceUrl":' || to_json(t.source_url), '"rawData":' || t.raw_data::text, '"createdAt":' || json_time(t.created_at)
    ), '}')
    from message as t where t.workspace_id = ws and t.id = record_id
  );
end $$;

create or replace function theme_json(ws uuid, record_id uuid) returns text
  language plpgsql stable as $$
begin
  return (
    select concat('{', concat_ws(',',
    '"id":' || to_json(t.id), '"name":' || to_json(t.name), '"isHidden":' || to_json(t.is_hidden),
    '"mergedInto":' || to_json(t.merged_into), '"createdAt":' || json_time(t.created_at)
    ), '}')
    from theme as t where t.workspace_id = ws and t.id = record_id
  );
end $$;

create or replace function feedback_category_json(ws uuid, record_id uuid) returns text
  language plpgsql stable as $$
begin
  return (
    select concat('{', concat_ws(',',
    '"id":' || to_json(t.id), '"title":' || to_json(t.title)
    ), '}')
    from feedback_category as t where t.workspace_id = ws and t.id = record_id
  );
end $$;

create or replace function alert_json(ws uuid, record_id uuid) returns text
  language plpgsql stable as $$
declare
  joined_1 text := name_of_alert(ws, record_id);
begin
  return (
    select concat('{', concat_ws(',',
    '"id":' || to_json(t.id), '"subject":' || to_json(t.subject), '"change":' || to_json(t.change),
    '"themeId":' || to_json(t.theme_id), '"kind":' || to_json(t.kind), '"tagId":' || to_json(t.tag_id),
    '"source":' || to_json(t.source), '"accountId":' || to_json(t.account_id), '"days":' || to_json(t.days),
    '"people":' || to_json(t.people), '"expected":' || to_json(t.expected), '"createdAt":' || json_time(t.created_at),
    '"name":' || joined_1
    ), '}')
    from alert as t where t.workspace_id = ws and t.id = record_id
  );
end $$;

create or replace function digest_json(ws uuid, record_id uuid) returns text
  language plpgsql stable as $$
declare
  joined_1 text := alerts_of_digest(ws, record_id);
  joined_2 text := changes_of_digest(ws, record_id);
begin
  return (
    select concat('{', concat_ws(',',
    '"id":' || to_json(t.id), '"week":' || json_time(t.week), '"createdAt":' || json_time(t.created_at), '"alerts":' || joined_1,
    '"changes":' || joined_2
    ), '}')
    from digest as t where t.workspace_id = ws and t.id = record_id
  );
end $$;
