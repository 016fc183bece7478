import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

export type Between = { url: string; stop: () => void }

/** Judges bytes on the connection of a client. */
type Check = (bytes: Buffer, client: Socket) => boolean

/**
 * A proxy before a server. `request` and `answer` return whether bytes pass; `delayMs` returns how
 * late they pass. Their order stays.
 */
export const standBetween = async (
  serverUrl: string,
  { request = () => true, answer = () => true, delayMs }: { request?: Check; answer?: Check; delayMs?: () => number },
): Promise<Between> => {
  const { hostname, port } = new URL(serverUrl)
  const open = new Set<Socket>()
  const server = createServer((client) => {
    const behind = connect(Number(port), hostname)
    for (const socket of [client, behind]) {
      open.add(socket)
      socket.on('error', () => {}).on('close', () => open.delete(socket))
    }
    const [toServer, toClient] = [inTime(delayMs), inTime(delayMs)]
    client
      .on('data', (bytes: Buffer) => request(bytes, client) && toServer(() => behind.write(bytes)))
      .on('close', () => toServer(() => behind.destroy()))
    behind
      .on('data', (bytes: Buffer) => answer(bytes, client) && toClient(() => client.write(bytes)))
      .on('close', () => toClient(() => client.destroy()))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = new URL(serverUrl)
  url.hostname = '127.0.0.1'
  url.port = String((server.address() as AddressInfo).port)
  return {
    url: url.href,
    stop: () => {
      server.close()
      for (const socket of open) socket.destroy()
    },
  }
}

/** Returns a function that runs each action after a delay, in order. */
const inTime = (delayMs?: () => number): ((act: () => unknown) => void) => {
  if (delayMs === undefined) return (act) => void act()
  const due: (() => unknown)[] = []
  let dueAt = 0
  return (act) => {
    due.push(act)
    dueAt = Math.max(dueAt, performance.now() + delayMs())
    setTimeout(() => due.shift()!(), dueAt - performance.now())
  }
}

/** Returns a check whether bytes complete the text, even if it arrives in pieces. */
export const createTextCheck = (text: string): Check => {
  const sought = Buffer.from(text)
  const ends = new WeakMap<Socket, Buffer>()
  return (bytes, client) => {
    const seen = Buffer.concat([ends.get(client) ?? Buffer.alloc(0), bytes])
    ends.set(client, seen.subarray(Math.max(0, seen.length - sought.length + 1)))
    return seen.includes(sought)
  }
}

export type LosingAnswers = Between & {
  /** Drops the next pieces of answers, and closes the connection at the last of them. */
  loseAnswers: (count?: number) => void
  /**
   * Resolves when a request with this text has been passed on. From then on no client gets an
   * answer.
   */
  loseAnswersFrom: (text: string) => Promise<void>
  /** Whether an answer has been lost since the request of `loseAnswersFrom`. */
  hasLost: () => boolean
  /** Ends the effect of `loseAnswersFrom`. */
  passAnswers: () => void
}

/** A proxy before a server that can lose answers. */
export const losingAnswers = async (serverUrl: string): Promise<LosingAnswers> => {
  let toLose = 0
  let isSilent = false
  let hasLost = false
  let awaited: { isSeen: ReturnType<typeof createTextCheck>; begin: () => void } | undefined
  const between = await standBetween(serverUrl, {
    request: (bytes, client) => {
      if (awaited?.isSeen(bytes, client)) {
        isSilent = true
        hasLost = false
        awaited.begin()
        awaited = undefined
      }
      return true
    },
    answer: (_, client) => {
      if (isSilent) hasLost = true
      if (isSilent) return false
      if (toLose === 0) return true
      if (--toLose === 0) client.destroy()
      return false
    },
  })
  return {
    ...between,
    loseAnswers: (count = 1) => {
      toLose = count
    },
    loseAnswersFrom: (text) => new Promise((begin) => (awaited = { isSeen: createTextCheck(text), begin })),
    hasLost: () => hasLost,
    passAnswers: () => {
      isSilent = false
    },
  }
}
