export type Propagation = {
  /** The conversation as it is queued: UTF-8 bytes of its JSON. */
  readonly conversationBytes: number
  /** The conversation's properties after unflattening, which makes them longer: UTF-8 bytes of their JSON. */
  readonly propertiesBytes: number
  readonly messageCount: number
}

/**
 * How many bytes of JSON a conversation has at most once its properties are in each of its messages.
 *
 * An upper bound that needs no look at the messages: what a merge adds to one is the properties at most, and less by the
 * keys that the message has itself. `{}` merges to no more bytes than the two objects have, since one pair of braces
 * makes room for the comma.
 */
export const propagatedSizeBytes = ({ conversationBytes, propertiesBytes, messageCount }: Propagation): number => {
  return conversationBytes + propertiesBytes * messageCount
}
