import assert from 'node:assert/strict'
import process from 'node:process'
import { setTimeout as pause } from 'node:timers/promises'
import type { Sql } from '../../db/connection/postgres.ts'
import { workspaceKeys } from '../../queue/keys.ts'
import { runCommand } from '../support/command.ts'
import { holdWork, resumeWork } from '../support/hold-work.ts'
import { freeze } from '../support/kept-process.ts'
import { CLUSTER_MASTERS, moveAllSlots, startRedisCluster } from '../support/redis-cluster.ts'
import { describeFaults, type Fault } from '../support/describe-faults.ts'
import { type PostgresPair, startPostgresPair } from '../support/postgres-pair.ts'
import { startRedisSentinel } from '../support/redis-sentinel.ts'
import { type Service, submissionIdOf } from '../support/service.ts'
import { startHistoryService } from '../support/submitted-history.ts'
import { startParts } from '../support/temporary-directory.ts'
import { startThreeWorkers, WORKERS_DIE } from '../support/worker-crew.ts'
import { until } from '../support/until.ts'

type AtPair = Service & { readonly pair: PostgresPair }
type AtReplicas = Service & Servers
type Servers = {
  readonly url: string
  /** Kills the master of a key; resolves when its replica has taken over. */
  readonly failOver: (key: string) => Promise<void>
  /** Starts the former master again. */
  readonly bringBack: () => Promise<void>
  readonly stop: () => Promise<void>
}

/** Far more than the time between the last commit of the standby and its promotion. */
const REDO_SECONDS = '300'
/** The least number of submissions that the promoted standby lacks. */
const FEWEST_MISSED = 60
const LONG = process.env['TEST_SIZE'] === 'long'
/**
 * How long each node is away: shorter or longer than the node timeout, after which the other nodes
 * refuse all commands.
 */
const AWAY_MS = [1_000, 3_000, 1_000]
const startAtPair = (isSynchronous: boolean): Promise<AtPair> =>
  startParts('at-pair', async (running) => {
    const pair = await startPostgresPair({ isSynchronous })
    running.defer(pair.stop)
    const service = await startHistoryService({ workers: 2, databaseUrl: pair.url, environment: { REDO_SECONDS } })
    running.defer(service.stop)
    return { ...service, pair }
  })

/** The ids of the submissions that have a receipt on a server. */
const storedAt = async (sql: Sql, { redisPrefix }: Service): Promise<Set<string>> => {
  const rows = await sql<{ id: string }[]>`select id from ${sql(redisPrefix)}.submission`
  return new Set(rows.map(({ id }) => id))
}
const untilMoreStored = (sql: Sql, service: Service, than: number) =>
  until('more submissions are stored', async () => (await storedAt(sql, service).catch(() => new Set())).size > than)

/** Promotes the standby, and waits until workers store there. */
const promote = async (service: AtPair): Promise<void> => {
  const { atStandby, promote: promoteStandby } = service.pair
  const { size } = await storedAt(atStandby, service)
  await promoteStandby()
  await untilMoreStored(atStandby, service, size)
}

const assertChangeLogged = async ({ pair, output, apiPids, workerPids }: AtPair): Promise<void> => {
  const [standby] = await pair.atStandby<[{ port: number }]>`select inet_server_port() as port`
  const lines = output().split('\n')
  const changes = lines.filter((line) => line.includes('"postgres_primary_changed"'))
  assert.equal(changes.length, apiPids.length + workerPids.length, 'each process logs the change once')
  for (const line of changes)
    assert.match((JSON.parse(line) as { server: string }).server, new RegExp(`:${standby.port}$`))
}

/** Asserts that a submission after the return of the former primary is not stored there. */
const assertFormerIsLeftAlone = async (service: AtPair): Promise<void> => {
  const id = submissionIdOf(await service.submit('/feedbacks', { description: 'after all' }))
  assert.equal((await storedAt(service.pair.atFormer, service)).has(id), false)
}

/** Faults of the primary. Each returns a function that brings this server back. */
const PRIMARY: Readonly<Record<string, (pair: PostgresPair) => Promise<() => Promise<unknown>>>> = {
  'is killed': async (pair) => {
    await pair.killPrimary()
    return pair.bringBack
  },
  hangs: async (pair) => {
    const goOn = freeze({ pid: () => pair.primary.pid })
    return async () => goOn()
  },
  'accepts no more writes': async ({ atFormer }) => {
    await atFormer`alter system set default_transaction_read_only = on`
    await atFormer`select pg_reload_conf()`
    return async () => {
      await atFormer`alter system reset default_transaction_read_only`
      await atFormer`select pg_reload_conf()`
    }
  },
}

describeFaults('a primary of Postgres with a synchronous standby', {
  start: () => startAtPair(true),
  rows: Object.entries(PRIMARY).map(([how, begin]): Fault<AtPair> => ({
    fault: `the primary ${how}, and its standby is promoted`,
    endsRig: true,
    strike: async (rig) => {
      await untilMoreStored(rig.pair.atStandby, rig, 0)
      const bringBack = await begin(rig.pair)
      await promote(rig)
      await bringBack()
    },
    afterwards: async (rig) => {
      await assertChangeLogged(rig)
      await assertFormerIsLeftAlone(rig)
      const [used] = await rig.sql<[{ attempts: number }]>`select max(attempts) as attempts from submission`
      assert.equal(used.attempts, 1, 'an absent or read-only primary does not count as a failed attempt')
    },
  })),
})

describeFaults('a primary of Postgres with an asynchronous standby', {
  start: () => startAtPair(false),
  rows: [
    {
      fault: 'the primary dies with commits that the standby lacks, which are applied again from the log',
      endsRig: true,
      // After a purge, the log lacks earlier submissions, as docs/growing.md says.
      purges: false,
      strike: async (rig) => {
        const { atFormer, atStandby, cutOffStandby, killPrimary, bringBack } = rig.pair
        await untilMoreStored(atStandby, rig, 10)
        await cutOffStandby()
        const { size } = await storedAt(atFormer, rig)
        await untilMoreStored(atFormer, rig, size + FEWEST_MISSED)
        await killPrimary()
        const had = await storedAt(atStandby, rig)
        await promote(rig)
        await bringBack()
        const missed = (await storedAt(atFormer, rig)).difference(had).size
        assert.ok(missed >= FEWEST_MISSED, `the standby lacked ${missed}`)
        return { note: `the standby lacked ${missed}` }
      },
      afterwards: assertFormerIsLeftAlone,
    },
  ],
})

const startReplicatedCluster = async (): Promise<Servers> => {
  const { nodes, ...cluster } = await startRedisCluster({ replicas: 1 })
  let former = nodes[0]!
  return {
    ...cluster,
    failOver: async (key) => {
      former = await cluster.holderOf(key)
      await former.kill()
      const replica = nodes[nodes.indexOf(former) + CLUSTER_MASTERS]!
      await until('the replica is a master', async () =>
        (await replica.redis.info('replication')).includes('role:master'),
      )
    },
    bringBack: () => former.start(),
  }
}

const startAtReplicas = <S extends Servers>(start: () => Promise<S>): Promise<Service & S> =>
  startParts('at-replicas', async (running) => {
    const servers = await start()
    running.defer(servers.stop)
    const environment = { REDIS_REPLICAS_ACK: '1' }
    const service = await startHistoryService({ apis: 2, redisUrl: servers.url, environment })
    running.defer(service.stop)
    return { ...servers, ...service }
  })

const masterDies: Fault<AtReplicas> = {
  fault: 'the master dies, and comes back as a replica',
  purges: false,
  prepare: async (service) => {
    const { stdout } = await runCommand(service, 'cli/doctor/doctor-command.ts')
    const has = 'Redis has 1 replica, and REDIS_REPLICAS_ACK asks for 1. Redis accepts writes with fewer'
    assert.match(stdout, new RegExp(`warning .*${has}[^]*min-replicas-to-write 1`))
  },
  strike: async ({ failOver, bringBack, queues, redisPrefix }, { workspaceId }) => {
    // Workers pause, so that only the promoted replica has the confirmed submissions.
    await holdWork(queues)
    await failOver(workspaceKeys(redisPrefix, workspaceId).state)
    await bringBack()
    await resumeWork(queues)
  },
}

describeFaults('a Redis with a replica and a sentinel, where a submission is confirmed once the replica has it', {
  start: () => startAtReplicas(startRedisSentinel),
  rows: [
    {
      fault: 'the replica does not answer, and no submission is confirmed meanwhile',
      purges: false,
      strike: async ({ replicaPid, post }) => {
        const headers = { 'Idempotency-Key': 'once' }
        const goOn = freeze({ pid: () => replicaPid })
        try {
          // For the repeated request, the script repeats a write. So the second API waits as well.
          for (const api of [0, 1]) {
            const answer = await post('/feedbacks', { description: 'once' }, { headers, api })
            assert.equal(answer.status, 503, answer.text)
            assert.match(answer.text, /Too few replicas/)
            assert.ok(Number(answer.headers.get('Retry-After')) > 0)
          }
        } finally {
          goOn()
        }
      },
    },
    masterDies,
  ],
})

describeFaults(
  'a Redis Cluster whose masters have a replica each, where a submission is confirmed once the replica has it',
  {
    start: () => startAtReplicas(startReplicatedCluster),
    rows: [masterDies],
  },
)

const startAtCluster = () =>
  startParts('at-cluster', async (running) => {
    const cluster = await startRedisCluster()
    running.defer(cluster.stop)
    const workers = await startThreeWorkers({ redisUrl: cluster.url })
    running.defer(workers.stop)
    return { ...workers, cluster }
  })

describeFaults('three workers on a Redis Cluster of three nodes', {
  start: startAtCluster,
  rows: [
    {
      fault: 'its slots move from node to node',
      purges: false,
      strike: async ({ cluster }) => {
        const moved = await moveAllSlots(cluster)
        assert.ok(moved > 5)
        return { note: `${moved} slots moved` }
      },
    },
    {
      fault: 'its nodes are killed one after the other, and return',
      purges: false,
      strike: async ({ cluster }) => {
        for (const [index, { kill, start }] of cluster.nodes.entries()) {
          await kill()
          await pause(AWAY_MS[index])
          await start()
          await cluster.untilWhole()
        }
      },
      // The queue `removal` was empty, so workers waited for its jobs during the whole fault.
      afterwards: async ({ settled }, { post, adminToken }) => {
        const contact = { id: 'waited', properties: { $email: 'waited@example.com' } }
        assert.equal(await settled(await post('/contacts/identify', contact)), 'applied')
        const options = { headers: { Prefer: 'wait=30' }, token: adminToken }
        assert.equal(await settled(await post('/contacts/purge', { id: 'waited' }, options)), 'applied')
      },
    },
    // matrix.test.ts has dying workers at a single Redis.
    ...(LONG ? WORKERS_DIE : []),
  ],
})
