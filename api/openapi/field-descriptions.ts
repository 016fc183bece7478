const UNFLATTEN =
  'When true, top-level keys with dots become nested objects before storing: `a.b` turns into `b` inside `a`. ' +
  'A key that cannot be nested stays as it was.'
const SOURCE_TIME = 'in the system that the record comes from: RFC 3339 with an offset, years 1 to 9999. Kept as UTC.'

/**
 * Descriptions of the members of request bodies, by path: the name of a schema and the members,
 * joined by dots. The schemas have the types, bounds, defaults and required members.
 */
export const FIELD_DESCRIPTIONS: Readonly<Record<string, string>> = {
  FeedbackSubmission: 'One piece of customer feedback and, if known, its contact, account and project.',
  'FeedbackSubmission.description': 'The words of the customer: plain text or simple HTML. May be empty.',
  'FeedbackSubmission.title': 'A heading for the feedback.',
  'FeedbackSubmission.isTranscript': 'Whether the text is the transcript of something spoken.',
  'FeedbackSubmission.tags':
    'Your own tags, stored as written, trimmed and without duplicates. An empty array means no tags. ' +
    'If absent or null, the service generates tags from title and description a little later.',
  'FeedbackSubmission.isExternalContactId':
    'How `contactId` and `contact.id` are read: true means the id that your system gave the contact. ' +
    'False or absent means the id that this service gave it.',
  'FeedbackSubmission.contact': 'The contact who gave the feedback. Used when `contactId` is absent or unknown.',
  'FeedbackSubmission.contactId':
    'The contact who gave the feedback, by id. An own id that no contact has is dropped. An unknown external id is remembered, and the ' +
    'feedback is linked once that contact is identified. A placeholder is refused as an external id.',
  'FeedbackSubmission.isExternalAccountId':
    'How `accountId` and `account.id` are read: true means the id that your system gave the account. ' +
    'False or absent means the id that this service gave it.',
  'FeedbackSubmission.account': 'The account of the customer. Used when `accountId` is absent or unknown.',
  'FeedbackSubmission.accountId':
    'The account of the customer, by id. Unknown ids are treated like those in `contactId`.',
  'FeedbackSubmission.project': 'The project that the feedback is about. Used when `projectId` is absent or unknown.',
  'FeedbackSubmission.projectId': 'The project that the feedback is about, by the id that this service gave it.',
  'FeedbackSubmission.source': 'The system that the feedback comes from. If absent or null, `API`.',
  'FeedbackSubmission.sourceId':
    'The id of the record in its source, such as the key of a ticket. The same source and `sourceId` again replace the ' +
    'record, which keeps its own id. Without `sourceId` every submission creates a record.',
  'FeedbackSubmission.shouldUnflattenSourceData': `${UNFLATTEN} Concerns \`sourceData\`.`,
  'FeedbackSubmission.sourceData': 'Any further data, such as the address of the original.',
  'FeedbackSubmission.createdAt':
    'When the customer gave it: RFC 3339 with an offset, years 1 to 9999. Kept as UTC. If absent or null, the time at which ' +
    'the feedback was accepted.',
  'FeedbackSubmission.rating': 'A score that came with the feedback, commonly a whole number. Fractions are accepted.',

  ContactReference: 'A contact, by `id` or by `email`. An `id` that resolves wins. An unknown email creates a contact.',
  'ContactReference.id': 'Id of an existing contact, read as `isExternalContactId` says.',
  'ContactReference.name': 'Name of the contact. It does not replace a name that an identify call has set.',
  'ContactReference.email':
    'The key of the contact: an email address, or any other text that is unique in your system. Compared in canonical ' +
    'form; a blank or a placeholder counts as absent.',
  'ContactReference.sourceData': 'Further facts about the contact, stored as its metadata.',

  AccountReference:
    'An account, by `id`, `domain` or `name`. An unknown domain or name creates an account. ' +
    'An `id` that resolves wins. Where domain and name belong to different accounts, the domain decides.',
  'AccountReference.id': 'Id of an existing account, read as `isExternalAccountId` says.',
  'AccountReference.name':
    'Name of the account, or any other text that is unique in your system. Compared in canonical form; a blank or a ' +
    'placeholder counts as absent.',
  'AccountReference.domain':
    'Domain of the account, or any other text that is unique in your system. Compared in canonical form; a blank or a ' +
    'placeholder counts as absent.',
  'AccountReference.contractValue': 'What the contract with the account is worth.',
  'AccountReference.sourceData': 'Further facts about the account, stored as its metadata.',

  ProjectReference: 'A project, by `id` or by `name`. An unknown name creates a project.',
  'ProjectReference.id': 'The id that this service gave the project.',
  'ProjectReference.name':
    'Name of the project. Compared in canonical form; two projects never share one. A blank or a placeholder counts as absent.',

  ContactRecord: 'The facts about a person in one source system.',
  'ContactRecord.id': 'The id that the source system gave the contact. A placeholder is refused.',
  'ContactRecord.shouldUnflattenProperties': `${UNFLATTEN} Concerns \`properties\`; keys that begin with \`$\` are left alone.`,
  'ContactRecord.properties': 'Facts about the contact. Absent keys keep their value.',
  'ContactRecord.account':
    'The account that the contact belongs to, identified along with it. Absent or null changes nothing.',
  'ContactRecord.source':
    'Only contacts of this source system are searched and changed. Without it all sources are searched, and a contact that has ' +
    'to be created belongs to `API`, or to the source of the conversation.',

  ContactProperties:
    'Facts about a contact. The `$`-keys below have columns of their own, and null clears them. Every other key is stored as metadata.',
  'ContactProperties.$email':
    'Email address. From then on it means this contact, even if another one had it. A contact known by the email alone becomes ' +
    'one with this contact; contacts with different ids are never merged. A blank or a placeholder means no contact.',
  'ContactProperties.$name': 'Name to show.',
  'ContactProperties.$createdAt': `When the contact was created ${SOURCE_TIME}`,
  'ContactProperties.$updatedAt': `When the contact last changed ${SOURCE_TIME} If the stored time is newer, the record only fills members without a value.`,
  'ContactProperties.$contractValue': 'What the contract with the contact is worth.',

  AccountRecord: 'The facts about a company.',
  'AccountRecord.id': 'The id that your system gave the account. A placeholder is refused.',
  'AccountRecord.shouldUnflattenProperties': `${UNFLATTEN} Concerns \`properties\`; keys that begin with \`$\` are left alone.`,
  'AccountRecord.properties':
    'Facts about the account. Its name and domain are required. Absent keys keep their value; keys other than ' +
    'those below are stored as metadata.',
  'AccountRecord.properties.$name': 'Name of the account.',
  'AccountRecord.properties.$domain': 'Domain of the account.',
  'AccountRecord.properties.$createdAt': `When the account was created ${SOURCE_TIME}`,
  'AccountRecord.properties.$updatedAt': `When the account last changed ${SOURCE_TIME} If the stored time is newer, the record only fills members without a value.`,
  'AccountRecord.properties.$contractValue': 'What the contract with the account is worth.',

  PurgeRequest:
    'Which contacts to delete: by id, by email, or all that match either of them. One of the two is required; an email that is ' +
    'blank or a placeholder does not count.',
  'PurgeRequest.id': 'The id that a source system gave the contact. A placeholder is refused.',
  'PurgeRequest.email': 'Email address of the contact, compared in canonical form.',
  'PurgeRequest.source': 'Limits the search to this source system. If absent or null, all are searched.',

  Conversation: 'A call, an email thread or a chat: its contacts and its messages.',
  'Conversation.id':
    'The id that the source gave the conversation. The same source and id again replace the conversation, unless `updatedAt` is older than ' +
    'the stored one. Messages and contacts that are not sent again stay.',
  'Conversation.title': 'A heading for the conversation.',
  'Conversation.source': 'The system that the conversation comes from.',
  'Conversation.createdAt': `When the conversation began ${SOURCE_TIME}`,
  'Conversation.updatedAt': `When the conversation last changed ${SOURCE_TIME} A stored conversation with a newer time is not replaced.`,
  'Conversation.contacts': 'Contacts who took part. Each is identified as if by a call of its own. May be empty.',
  'Conversation.messages': 'The messages. May be empty.',
  'Conversation.rating': 'A score that the conversation was given, commonly a whole number. Fractions are accepted.',
  'Conversation.shouldUnflattenProperties': `${UNFLATTEN} Concerns \`properties\`.`,
  'Conversation.propagatePropertiesToMessages':
    'When true, `properties` are also stored with every message. A key that the message has itself keeps its value. Absent or ' +
    'null means false.',
  'Conversation.properties': 'Any further data about the conversation.',

  Message: 'One message, or one turn of a spoken conversation.',
  'Message.id': 'Id of the message, unique in its conversation. The same id again replaces the message.',
  'Message.incoming': 'True when a customer or another outsider wrote it, false when a member of your team wrote it.',
  'Message.contactId':
    'The external id of the contact who sent it. Looked up first in `contacts`, then in the source of the conversation, then in ' +
    'all sources. The contact need not exist yet.',
  'Message.content': 'Text of the message. May be empty.',
  'Message.createdAt': `When it was sent ${SOURCE_TIME}`,
  'Message.shouldUnflattenProperties': `${UNFLATTEN} Concerns \`properties\`.`,
  'Message.properties': 'Any further data about the message.',
  'Message.sourceUrl': 'Address of the original message.',

  FreeObject: 'Free key-value pairs, kept as they are given.',
}
