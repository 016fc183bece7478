import { spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import process from 'node:process'
import type { Program } from './service-process.ts'

/** A host: a network namespace with an address. */
export type NetworkHost = {
  readonly name: string
  readonly address: string
  /** The first words of a command line that runs the other words on the host. */
  readonly via: readonly string[]
}

export type Network<Name extends string> = {
  readonly hosts: Readonly<Record<Name, NetworkHost>>
  /** Drops all packets from `from` to `to`, like a partition. The returned function mends this. */
  readonly cut: (from: Name, to: Name) => () => void
  /** Takes the link of a host down. The returned function brings it up. */
  readonly takeDown: (name: Name) => () => void
  readonly stop: () => void
}

const UNUSED_MAC = '02:00:00:00:00:01'

const ip = (...words: readonly string[]): void => {
  const { status, stderr } = spawnSync('ip', words, { encoding: 'utf8' })
  if (status !== 0) throw new Error(`ip ${words.join(' ')}: ${stderr}`)
}

/** Why this machine cannot make hosts; undefined if it can. */
export const whyNoNetwork = (): string | undefined => {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return 'network namespaces need root on Linux'
  const name = `fi-try-${process.pid}`
  if (spawnSync('ip', ['netns', 'add', name]).status !== 0) return 'no network namespace can be made here'
  ip('netns', 'delete', name)
  return undefined
}

/** Starts hosts that reach each other and this machine over a bridge. */
export const startNetwork = <Name extends string>(names: readonly Name[]): Network<Name> => {
  removeForgotten()
  const id = String(process.pid)
  const bridge = `fi${id}`
  const subnet = `10.${64 + (process.pid % 128)}.${randomBytes(1)[0]}`
  const stops: (() => void)[] = []
  const stop = (): void => {
    for (const undo of stops.splice(0).toReversed()) undo()
  }
  process.once('exit', stop)
  try {
    ip('link', 'add', bridge, 'type', 'bridge')
    stops.push(() => ip('link', 'delete', bridge))
    ip('address', 'add', `${subnet}.1/24`, 'dev', bridge)
    ip('link', 'set', bridge, 'up')
    const linkOf = (index: number): string => `fi${id}-${index}`
    const hosts = names.map((name, index): [Name, NetworkHost] => {
      const [space, address] = [`fi-${id}-${name}`, `${subnet}.${index + 2}`]
      ip('netns', 'add', space)
      stops.push(() => ip('netns', 'delete', space))
      ip('link', 'add', linkOf(index), 'type', 'veth', 'peer', 'name', 'eth0', 'netns', space)
      // Otherwise the namespace would stay as long as one of its sockets waits.
      stops.push(() => ip('link', 'delete', linkOf(index)))
      ip('link', 'set', linkOf(index), 'master', bridge, 'up')
      const inside = (...words: readonly string[]): void => ip('-n', space, ...words)
      inside('address', 'add', `${address}/24`, 'dev', 'eth0')
      inside('link', 'set', 'eth0', 'up')
      inside('link', 'set', 'lo', 'up')
      return [name, { name: space, address, via: ['ip', 'netns', 'exec', space] }]
    })
    const byName = Object.fromEntries(hosts) as Record<Name, NetworkHost>
    return {
      hosts: byName,
      cut: (from, to) => {
        const neighbor = [byName[to].address, 'dev', 'eth0']
        ip('-n', byName[from].name, 'neighbor', 'replace', ...neighbor, 'lladdr', UNUSED_MAC, 'nud', 'permanent')
        return () => ip('-n', byName[from].name, 'neighbor', 'delete', ...neighbor)
      },
      takeDown: (name) => {
        ip('link', 'set', linkOf(names.indexOf(name)), 'down')
        return () => ip('link', 'set', linkOf(names.indexOf(name)), 'up')
      },
      stop: () => {
        process.removeListener('exit', stop)
        stop()
      },
    }
  } catch (error) {
    stop()
    throw error
  }
}

/** Removes networks of killed processes. */
const removeForgotten = (): void => {
  const { stdout } = spawnSync('ip', ['netns', 'list'], { encoding: 'utf8' })
  const forgotten = [...stdout.matchAll(/^(fi-(\d+)-\w+)/gm)].filter(([, , pid]) => !existsSync(`/proc/${pid}`))
  for (const [, name] of forgotten) {
    const pids = spawnSync('ip', ['netns', 'pids', name!], { encoding: 'utf8' }).stdout.split('\n')
    for (const pid of pids.filter(Boolean)) spawnSync('kill', ['-9', pid])
    spawnSync('ip', ['netns', 'delete', name!])
  }
  for (const pid of new Set(forgotten.map(([, , owner]) => owner))) spawnSync('ip', ['link', 'delete', `fi${pid}`])
}

/** A program on a host, or on this machine. */
export const programOn = (file: string, host?: NetworkHost): Program => (host ? { file, via: host.via } : file)
