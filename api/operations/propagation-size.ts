export type Propagation = {
  /** The conversation as it is queued: UTF-8 bytes of its JSON. */
  readonly conversationBytes: number
  /**
   * The conversation's properties after unflattening, which makes them longer: UTF-8 bytes of their
   * JSON.
   */
  readonly propertiesBytes: number
  readonly messageCount: number
}

/**
 * How many bytes of JSON a conversation has at most once its properties are in each of its
 * messages.
 *
 * The bound needs no look at the messages: a merge adds the properties at most to a message, and
 * less where the message has a key itself. An empty object merges to no more bytes than the two
 * objects have, since one pair of braces makes room for the comma.
 */
export const propagatedSizeBytes = ({ conversationBytes, propertiesBytes, messageCount }: Propagation): number =>
  conversationBytes + propertiesBytes * messageCount
