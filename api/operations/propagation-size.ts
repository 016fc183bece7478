export type Propagation = {
  /** The conversation as it is queued: UTF-8 bytes of its JSON. */
  readonly conversationBytes: number
  /**
   * The conversation's properties after unflattening, which lengthens them: UTF-8 bytes of their
   * JSON.
   */
  readonly propertiesBytes: number
  readonly messageCount: number
}

/**
 * The maximum number of bytes of JSON that a conversation has once each message has its properties.
 *
 * The bound does not depend on the content of messages. A merge adds at most the properties to a
 * message, and less where the message has a key itself. The comma between two objects takes the
 * place of a pair of braces.
 */
export const propagatedSizeBytes = ({ conversationBytes, propertiesBytes, messageCount }: Propagation): number =>
  conversationBytes + propertiesBytes * messageCount
