const UNFLATTEN =
  'When true, top-level keys with dots become nested objects before storing: `a.b` turns into `b` inside `a`. ' +
  'A key that finds no place stays as it was.'
const SOURCE_TIME = 'in the system that the record comes from: RFC 3339 with an offset, years 1 to 9999. Kept as UTC.'

/**
 * What each member of a request body means, by its path: the name of a schema and the members that
 * lead to it, joined by dots. Types, bounds, defaults and which members are required are in the
 * schemas, and are not repeated here.
 */
export const FIELD_DESCRIPTIONS: Readonly<Record<string, string>> = {
  FeedbackSubmission: 'One piece of customer feedback and, if known, whom it comes from and what it is about.',
  'FeedbackSubmission.description': 'What was said: plain text or simple HTML. May be empty.',
  'FeedbackSubmission.title': 'A heading for the feedback.',
  'FeedbackSubmission.isTranscript': 'Whether the text is the transcript of something spoken.',
  'FeedbackSubmission.tags':
    'Tags of your own, kept as written after trimming, doubles left out. An empty array means no tags. ' +
    'Absent or null, tags are made from title and description a little later.',
  'FeedbackSubmission.isExternalContactId':
    'How `contactId` and `contact.id` are read: true means the id that your system gave the contact, false, as when ' +
    'it is absent, the id that this service gave it.',
  'FeedbackSubmission.contact': 'Who gave the feedback, described. Used when `contactId` is absent or unknown.',
  'FeedbackSubmission.contactId':
    'Who gave the feedback, by id. An own id that no contact has is dropped; an unknown external id is remembered, and the ' +
    'feedback is linked once that contact is identified. As an external id, a placeholder is refused.',
  'FeedbackSubmission.isExternalAccountId':
    'How `accountId` and `account.id` are read: true means the id that your system gave the account, false, as when ' +
    'it is absent, the id that this service gave it.',
  'FeedbackSubmission.account': 'The company concerned, described. Used when `accountId` is absent or names none.',
  'FeedbackSubmission.accountId': 'The company concerned, by id. Unknown ids are treated as those of contacts are.',
  'FeedbackSubmission.project':
    'The project that the feedback is about, described. Used when `projectId` is absent or names none.',
  'FeedbackSubmission.projectId': 'The project that the feedback is about, by the id that this service gave it.',
  'FeedbackSubmission.source': 'The system that the feedback comes from. Absent or null, it is `API`.',
  'FeedbackSubmission.sourceId':
    'What the record is called in its source, such as the key of a ticket. The same source and `sourceId` again replace the ' +
    'record, whose id stays. Without it every submission is a record of its own.',
  'FeedbackSubmission.shouldUnflattenSourceData': `${UNFLATTEN} Concerns \`sourceData\`.`,
  'FeedbackSubmission.sourceData': 'Anything else worth keeping, such as an address that leads back to the original.',
  'FeedbackSubmission.createdAt':
    'When the customer gave it: RFC 3339 with an offset, years 1 to 9999. Kept as UTC. Absent or null, it is the time at which ' +
    'the feedback was accepted.',
  'FeedbackSubmission.rating': 'A score that came with the feedback, commonly a whole number. Fractions are accepted.',

  ContactReference:
    'A contact that exists, by `id`, or one to be found by `email` and created if there is none. `id` wins if it resolves.',
  'ContactReference.id': 'Id of an existing contact, read as `isExternalContactId` says.',
  'ContactReference.name': 'Name for the contact. Fills in only what no identify call has set.',
  'ContactReference.email':
    'What tells contacts apart here: an email address, or any other text that is unique in your system. Compared in canonical ' +
    'form; blank or a placeholder, it counts as absent.',
  'ContactReference.sourceData': 'Further facts about the contact, stored as its metadata.',

  AccountReference:
    'An account that exists, by `id`, or one to be found by `domain` or `name` and created if there is none. ' +
    '`id` wins if it resolves; where domain and name point to different accounts, the domain decides.',
  'AccountReference.id': 'Id of an existing account, read as `isExternalAccountId` says.',
  'AccountReference.name':
    'Name of the account, or any other text that is unique in your system. Compared in canonical form; blank or a ' +
    'placeholder, it counts as absent.',
  'AccountReference.domain':
    'Domain of the account, or any other text that is unique in your system. Compared in canonical form; blank or a ' +
    'placeholder, it counts as absent.',
  'AccountReference.contractValue': 'What the contract with the account is worth.',
  'AccountReference.sourceData': 'Further facts about the account, stored as its metadata.',

  ProjectReference: 'A project that exists, by `id`, or one to be found by `name` and created if there is none.',
  'ProjectReference.id': 'The id that this service gave the project.',
  'ProjectReference.name':
    'Name of the project. Compared in canonical form; two projects never share one. Blank or a placeholder, it counts as absent.',

  ContactRecord: 'What is known about a person in one source system.',
  'ContactRecord.id': 'The id that the source system gave the contact. A placeholder is refused.',
  'ContactRecord.shouldUnflattenProperties': `${UNFLATTEN} Concerns \`properties\`; keys that begin with \`$\` are left alone.`,
  'ContactRecord.properties': 'Facts about the contact. Keys that are absent keep their value.',
  'ContactRecord.account':
    'The account that the contact belongs to, identified along with it. Absent or null changes nothing.',
  'ContactRecord.source':
    'Limits search and change to contacts of this source system. Without it all sources are searched, and a contact that has ' +
    'to be created belongs to `API`, or in a conversation to its source.',

  ContactProperties:
    'Facts about a contact. The `$`-keys below have columns of their own, in which null clears; every other key is stored as metadata.',
  'ContactProperties.$email':
    'Email address. It means this contact from now on, also if another one had it. A contact known by the email alone becomes ' +
    'one with this contact; contacts with different ids are never merged. Blank or a placeholder, it means no one.',
  'ContactProperties.$name': 'Name to show.',
  'ContactProperties.$createdAt': `When the contact was created ${SOURCE_TIME}`,
  'ContactProperties.$updatedAt': `When the contact last changed ${SOURCE_TIME} If what is stored is newer, the record only fills what has no value.`,
  'ContactProperties.$contractValue': 'What the contract with the contact is worth.',

  AccountRecord: 'What is known about a company.',
  'AccountRecord.id': 'The id that your system gave the account. A placeholder is refused.',
  'AccountRecord.shouldUnflattenProperties': `${UNFLATTEN} Concerns \`properties\`; keys that begin with \`$\` are left alone.`,
  'AccountRecord.properties':
    'Facts about the account, which have to include its name and domain. Keys that are absent keep their value; keys other than ' +
    'those below are stored as metadata.',
  'AccountRecord.properties.$name': 'Name of the account.',
  'AccountRecord.properties.$domain': 'Domain of the account.',
  'AccountRecord.properties.$createdAt': `When the account was created ${SOURCE_TIME}`,
  'AccountRecord.properties.$updatedAt': `When the account last changed ${SOURCE_TIME} If what is stored is newer, the record only fills what has no value.`,
  'AccountRecord.properties.$contractValue': 'What the contract with the account is worth.',

  PurgeRequest:
    'Which contacts to delete: by id, by email, or all that match either of them. One of the two is needed; an email that is ' +
    'blank or a placeholder is none.',
  'PurgeRequest.id': 'The id that a source system gave the contact. A placeholder is refused.',
  'PurgeRequest.email': 'Email address of the contact, compared in canonical form.',
  'PurgeRequest.source': 'Limits the search to this source system; absent or null, all are searched.',

  Conversation: 'A call, an email thread or a chat: who took part and what was said.',
  'Conversation.id':
    'The id that the source gave the conversation. The same source and id again replace it, unless `updatedAt` is older than ' +
    'the stored one; messages and contacts that are not sent again stay.',
  'Conversation.title': 'A heading for the conversation.',
  'Conversation.source': 'The system that the conversation comes from.',
  'Conversation.createdAt': `When the conversation began ${SOURCE_TIME}`,
  'Conversation.updatedAt': `When the conversation last changed ${SOURCE_TIME} What is stored with a newer one is not replaced.`,
  'Conversation.contacts': 'Contacts who took part. Each is identified as if by a call of its own. May be empty.',
  'Conversation.messages': 'What was said, message by message. May be empty.',
  'Conversation.rating': 'A score that the conversation was given, commonly a whole number. Fractions are accepted.',
  'Conversation.shouldUnflattenProperties': `${UNFLATTEN} Concerns \`properties\`.`,
  'Conversation.propagatePropertiesToMessages':
    'When true, `properties` are stored with every message as well; where both have a key, the message keeps its own. Absent or ' +
    'null means false.',
  'Conversation.properties': 'Anything else worth keeping about the conversation.',

  Message: 'One message, or one turn of a spoken conversation.',
  'Message.id': 'Id of the message, unique in its conversation. Sent again, it replaces the former one.',
  'Message.incoming':
    'True when it came from a customer or another outsider, false when a member of your team wrote it.',
  'Message.contactId':
    'The external id of the contact who sent it. Looked up among `contacts` first, then in the source of the conversation, then ' +
    'everywhere; need not be known yet.',
  'Message.content': 'Text of the message. May be empty.',
  'Message.createdAt': `When it was sent ${SOURCE_TIME}`,
  'Message.shouldUnflattenProperties': `${UNFLATTEN} Concerns \`properties\`.`,
  'Message.properties': 'Anything else worth keeping about the message.',
  'Message.sourceUrl': 'Address of the original message.',

  FreeObject: 'Free key-value pairs, kept as they are given.',
}
