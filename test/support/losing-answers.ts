import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

export type LosingAnswers = { url: string; loseAnswers: (count?: number) => void; stop: () => void }

/** Stands before a server and passes on what it gets, until it is told to lose answers: with the last of them it closes the connection. */
export const losingAnswers = async (serverUrl: string): Promise<LosingAnswers> => {
  const { hostname, port } = new URL(serverUrl)
  const open = new Set<Socket>()
  let toLose = 0
  const server = createServer((client) => {
    const behind = connect(Number(port), hostname)
    for (const socket of [client, behind]) {
      open.add(socket)
      socket.on('error', () => {}).on('close', () => open.delete(socket))
    }
    client.on('data', (request) => behind.write(request)).on('close', () => behind.destroy())
    behind.on('close', () => client.destroy())
    behind.on('data', (answer) => {
      if (toLose === 0) return void client.write(answer)
      if (--toLose === 0) client.destroy()
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = new URL(serverUrl)
  url.hostname = '127.0.0.1'
  url.port = String((server.address() as AddressInfo).port)
  return {
    url: url.href,
    loseAnswers: (count = 1) => {
      toLose = count
    },
    stop: () => {
      server.close()
      for (const socket of open) socket.destroy()
    },
  }
}
