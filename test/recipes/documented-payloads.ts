// Payloads of the vendors' documentation, each with its address.

/** https://segment.com/docs/connections/spec/identify (the complete example) */
export const SEGMENT_IDENTIFY = {
  anonymousId: '507f191e810c19729de860ea',
  channel: 'browser',
  context: { ip: '8.8.8.8', userAgent: 'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_9_5)' },
  integrations: { All: false, Mixpanel: true, Salesforce: true },
  messageId: '022bb90c-bbac-11e4-8dfc-aa07a5b093db',
  receivedAt: '2015-02-23T22:28:55.387Z',
  sentAt: '2015-02-23T22:28:55.111Z',
  timestamp: '2015-02-23T22:28:55.111Z',
  traits: {
    name: 'Peter Gibbons',
    email: 'peter@example.com',
    plan: 'premium',
    logins: 5,
    address: { street: '6th St', city: 'San Francisco', state: 'CA', postalCode: '94103', country: 'USA' },
  },
  type: 'identify',
  userId: '97980cfea0067',
  version: '1.1',
}

/** https://segment.com/docs/connections/spec/group (the complete example) */
export const SEGMENT_GROUP = {
  anonymousId: '507f191e810c19729de860ea',
  channel: 'browser',
  integrations: { All: true, Mixpanel: false, Salesforce: false },
  messageId: '022bb90c-bbac-11e4-8dfc-aa07a5b093db',
  receivedAt: '2015-02-23T22:28:55.387Z',
  sentAt: '2015-02-23T22:28:55.111Z',
  timestamp: '2015-02-23T22:28:55.111Z',
  traits: { name: 'Initech', industry: 'Technology', employees: 329, plan: 'enterprise', 'total billed': 830 },
  type: 'group',
  userId: '97980cfea0067',
  groupId: '0e8c78ea9d97a7b8185e8632',
  version: '1.1',
}

/** https://segment.com/docs/connections/spec/ecommerce/v2 (Product Reviewed) */
export const SEGMENT_TRACK = {
  type: 'track',
  event: 'Product Reviewed',
  messageId: '023bb90c-bbac-11e4-8dfc-aa07a5b093db',
  timestamp: '2015-02-23T22:28:55.111Z',
  userId: '97980cfea0067',
  properties: {
    product_id: '507f1f77bcf86cd799439011',
    review_id: 'kdfjrj39fj39jf3',
    review_body: 'I love this product',
    rating: '5',
  },
}

/** https://rudderstack.com/docs/destinations/webhooks/cloud-mode (identify) */
export const RUDDERSTACK_IDENTIFY = {
  channel: 'web',
  context: {
    app: { build: '1.0.0', name: 'RudderLabs JavaScript SDK', namespace: 'com.rudderlabs.javascript' },
    traits: {
      name: 'User name',
      email: 'user@domain.com',
      plan: 'Enterprise',
      company: { id: 'company-A' },
      createdAt: 'Thu Mar 24 2016 17:46:45 GMT+0000 (UTC)',
    },
  },
  type: 'identify',
  messageId: '508d5e8c-96e4-4301-bd46-1890dba5c866',
  originalTimestamp: '2020-04-22T08:06:20.337Z',
  anonymousId: '21b43de4-3b9b-423f-b51f-794eae31fc03',
  userId: 'my-user-id',
  integrations: { All: true },
}

/** https://www.rudderstack.com/docs/event-spec/standard-events/group, with common fields */
export const RUDDERSTACK_GROUP = {
  type: 'group',
  messageId: '608d5e8c-96e4-4301-bd46-1890dba5c866',
  groupId: '5e8a78ba9d32d3b1898a6247',
  traits: { name: 'Hooli', industry: 'Technology', employees: 4500, plan: 'basic' },
}

/** https://rudderstack.com/docs/event-spec/standard-events/track, with common fields */
export const RUDDERSTACK_TRACK = {
  type: 'track',
  event: 'Product Reviewed',
  messageId: '708d5e8c-96e4-4301-bd46-1890dba5c866',
  originalTimestamp: '2020-04-22T08:06:20.337Z',
  userId: 'my-user-id',
  properties: {
    review_id: '86ac1cd43',
    product_id: '9578257311',
    rating: 3.0,
    review_body: 'OK for the price. It works but the material feels flimsy.',
  },
}

// https://developer.zendesk.com/api-reference/webhooks/event-types/ticket-events/ (Ticket created)
export const ZENDESK_EVENT = {
  account_id: 22129848,
  detail: {
    actor_id: '8447388090494',
    assignee_id: '8447388090494',
    brand_id: '8447346621310',
    created_at: '2025-01-08T10:12:07Z',
    custom_status: '8447320465790',
    description: 'ticket_info_desc_2294a6e9ece2',
    external_id: null,
    form_id: '8646151517822',
    group_id: '8447320466430',
    id: '5158',
    is_public: true,
    organization_id: '8447346622462',
    priority: 'LOW',
    requester_id: '8447388090494',
    status: 'OPEN',
    subject: 'ticketinfo_2294a6e9ece2',
    submitter_id: '8447388090494',
    tags: ['ticket-info-test-tag'],
    type: 'TASK',
    updated_at: '2025-01-08T10:12:07Z',
    via: { channel: 'web_service' },
  },
  event: {},
  id: 'cbe4028c-7239-495d-b020-f22348516046',
  subject: 'zen:ticket:5158',
  time: '2025-01-08T10:12:07.672717030Z',
  type: 'zen:event-type:ticket.created',
  zendesk_event_version: '2022-11-06',
}

/** https://developer.zendesk.com/documentation/webhooks/anatomy-of-a-webhook-request/ */
export const ZENDESK_HEADERS = {
  'x-zendesk-account-id': '123456',
  'x-zendesk-webhook-id': '01F1KRFQ6BG29CNWFR60NK5FNY',
  'x-zendesk-webhook-invocation-id': '8350205582',
  'x-zendesk-webhook-signature-timestamp': '2021-03-25T05:09:27Z',
}

/**
 * The envelope of https://developers.intercom.com/docs/references/1.0/webhooks/webhook-models, with
 * https://developers.intercom.com/docs/references/2.1/rest-api/conversations/conversation-model.
 */
export const INTERCOM_CREATED = {
  type: 'notification_event',
  id: 'notif_78c122d0-23ba-11e4-9464-79b01267cc2e',
  topic: 'conversation.user.created',
  app_id: 'a86dr8yl',
  data: {
    type: 'notification_event_data',
    item: {
      type: 'conversation',
      id: '1911149811',
      created_at: 1539897198,
      updated_at: 1540393270,
      source: {
        attachments: [],
        author: { id: '5bc8f7ae2d96695c18a', type: 'lead' },
        body: '<p>Hi</p>',
        delivered_as: 'customer_initiated',
        id: '269650473',
        subject: '',
        type: 'conversation',
        url: 'https://intercom-survey-app.glitch.me/',
        redacted: false,
      },
      contacts: [{ id: '5bc8f7ae2d96695c18a', type: 'lead' }],
      open: true,
      state: 'open',
      tags: { tags: [], type: 'tag.list' },
      conversation_rating: { created_at: null, contact: null, rating: null, remark: null },
    },
  },
  created_at: 1410188628,
}

// https://developers.intercom.com/docs/references/1.0/rest-api/conversations/conversation-part-model
export const INTERCOM_REPLIED = {
  ...INTERCOM_CREATED,
  id: 'notif_88c122d0-23ba-11e4-9464-79b01267cc2e',
  topic: 'conversation.user.replied',
  data: {
    type: 'notification_event_data',
    item: {
      ...INTERCOM_CREATED.data.item,
      conversation_rating: {
        created_at: 1540393270,
        contact: { type: 'contact', id: '5bc8f7ae2d96695c18a' },
        rating: 4,
        remark: 'quick',
      },
      conversation_parts: {
        type: 'conversation_part.list',
        conversation_parts: [
          {
            type: 'conversation_part',
            id: '4412',
            part_type: 'comment',
            body: "<p>Hi Jane, it's all great thanks!</p>",
            created_at: 1400857494,
            updated_at: 1400857494,
            author: { type: 'user', id: '536e564f316c83104c000020', name: 'Ada', email: 'ada@x.example' },
          },
          {
            type: 'conversation_part',
            id: '4413',
            part_type: 'close',
            body: null,
            author: { type: 'admin', id: '814860' },
          },
        ],
      },
    },
  },
}

/** https://www.typeform.com/developers/webhooks/example-payload/ (without some of the questions) */
export const TYPEFORM = {
  event_id: 'LtWXD3crgy',
  event_type: 'form_response',
  form_response: {
    form_id: 'lT4Z3j',
    token: 'a3a12ec67a1365927098a606107fac15',
    submitted_at: '2018-01-18T18:17:02Z',
    landed_at: '2018-01-18T18:07:02Z',
    calculated: { score: 9 },
    variables: [
      { key: 'score', type: 'number', number: 4 },
      { key: 'name', type: 'text', text: 'typeform' },
    ],
    hidden: { user_id: 'abc123456' },
    definition: {
      id: 'lT4Z3j',
      title: 'Webhooks example',
      fields: [
        {
          id: 'DlXFaesGBpoF',
          title: "Thanks, {{answer_60906475}}! What's it like where you live? Tell us in a few sentences.",
          type: 'long_text',
          ref: 'readable_ref_long_text',
          allow_multiple_selections: false,
          allow_other_choice: false,
        },
      ],
    },
    answers: [
      {
        type: 'text',
        text: "It's cold right now! I live in an older medium-sized city with a university. Geographically, the area is hilly.",
        field: { id: 'DlXFaesGBpoF', type: 'long_text' },
      },
      { type: 'email', email: 'laura@example.com', field: { id: 'SMEUb7VJz92Q', type: 'email' } },
      { type: 'text', text: 'Laura', field: { id: 'JwWggjAKtOkA', type: 'short_text' } },
      { type: 'date', date: '2005-10-15', field: { id: 'KoJxDM3c6x8h', type: 'date' } },
      {
        type: 'choices',
        choices: { labels: ['London', 'Sydney'] },
        field: { id: 'PNe8ZKBK8C2Q', type: 'picture_choice' },
      },
      { type: 'number', number: 5, field: { id: 'Q7M2XAwY04dW', type: 'number' } },
      { type: 'boolean', boolean: true, field: { id: 'gFFf3xAkJKsr', type: 'legal' } },
      { type: 'choice', choice: { label: 'London' }, field: { id: 'k6TP9oLGgHjl', type: 'multiple_choice' } },
      { type: 'boolean', boolean: false, field: { id: 'RUqkXSeXBXSd', type: 'yes_no' } },
      { type: 'number', number: 2, field: { id: 'NRsxU591jIW9', type: 'opinion_scale' } },
      { type: 'number', number: 3, field: { id: 'WOTdC00F8A3h', type: 'rating' } },
      { type: 'number', number: 4, field: { id: 'pn48RmPazVdM', type: 'number' } },
    ],
  },
}

/** https://developer.apple.com/documentation/appstoreconnectapi/get-v1-apps-_id_-customerreviews */
export const APP_STORE_REVIEW = {
  type: 'customerReviews',
  id: '00000028-b08c-0014-729e-fbd500000000',
  attributes: {
    rating: 5,
    title: 'Awesome!!!',
    body: "It's a really fantastic app!",
    reviewerNickname: 'Anne Johnson',
    createdDate: '2017-11-15T08:10:34-08:00',
    territory: 'USA',
  },
}

// https://developer.apple.com/documentation/appstoreconnectapi/get-v1-appstoreversions-_id_-customerreviews
export const ANOTHER_APP_STORE_REVIEW = {
  type: 'customerReviews',
  id: '00000028-b08c-0014-9674-c54800000000',
  attributes: {
    rating: 5,
    title: 'Pretty Stellar',
    body: 'I love how creative I can be when I use this app. I can really explore the depths of my imagination!',
    reviewerNickname: 'Juan Chavez',
    createdDate: '2024-01-02T11:19:36-07:00',
    territory: 'USA',
  },
}
