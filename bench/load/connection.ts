import { connect } from 'node:net'

type OnAnswer = (status: number) => void

/** A kept-alive HTTP/1.1 connection that carries one request at a time. */
export type Connection = {
  /** `onAnswer` receives the status once the whole answer is there. */
  readonly send: (request: string, onAnswer: OnAnswer) => void
  readonly close: () => void
}

const CONTENT_LENGTH = /\r\ncontent-length: *(\d+)/i
const HEAD_END = '\r\n\r\n'
const STATUS_AT = 9

/**
 * Reads only answers with a `Content-Length`: a full HTTP client takes as much processor time as
 * the measured server. Calls `onFault` for any other answer, and when the connection breaks.
 */
export const openConnection = (
  { hostname, port }: { hostname: string; port: number },
  onFault: (error: Error) => void,
): Promise<Connection> => {
  const socket = connect({ host: hostname, port, noDelay: true })
  let text = ''
  let waiting: OnAnswer | undefined
  let closed = false

  socket.setEncoding('latin1')
  socket.on('data', (chunk: string) => {
    text += chunk
    const head = text.indexOf(HEAD_END)
    if (head === -1) return
    const length = CONTENT_LENGTH.exec(text.slice(0, head))?.[1]
    if (length === undefined) return onFault(new Error(`An answer without a Content-Length: ${text.slice(0, head)}`))
    if (text.length < head + HEAD_END.length + Number(length)) return
    const status = Number(text.slice(STATUS_AT, STATUS_AT + 3))
    const answered = waiting
    text = ''
    waiting = undefined
    answered?.(status)
  })
  socket.on('error', (error) => onFault(error))
  socket.on('close', () => {
    if (!closed) onFault(new Error('The server closed a connection'))
  })
  return new Promise((resolve) => {
    socket.once('connect', () =>
      resolve({
        send: (request, onAnswer) => {
          waiting = onAnswer
          socket.write(request)
        },
        close: () => {
          closed = true
          socket.destroy()
        },
      }),
    )
  })
}
