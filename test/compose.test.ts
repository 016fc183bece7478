import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { parse } from 'yaml'
import { SETTINGS } from '../runtime/settings.ts'
import { MAY_IMPORT } from '../tools/import-rule.ts'
import { serveHttp } from './support/http-server.ts'
import { temporaryDirectory } from './support/temporary-directory.ts'

type Service = {
  readonly image: string
  readonly build?: string
  readonly user?: string
  readonly read_only?: boolean
  readonly cap_drop?: readonly string[]
  readonly security_opt?: readonly string[]
  readonly mem_limit?: string
  readonly pids_limit?: number
  readonly logging?: { readonly options: Readonly<Record<string, string>> }
  readonly restart?: string
  readonly stop_grace_period?: string
  readonly command?: readonly string[]
  readonly environment: Readonly<Record<string, string>>
  readonly env_file?: readonly object[]
  readonly ports?: readonly string[]
  readonly volumes?: readonly string[]
  readonly networks: readonly string[]
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>
  readonly healthcheck?: { readonly test: readonly string[] }
}

type Compose = {
  readonly services: Readonly<Record<string, Service>>
  readonly networks: Readonly<Record<string, { readonly internal?: boolean }>>
  readonly configs: Readonly<Record<string, { readonly content: string }>>
}

const root = fileURLToPath(new URL('..', import.meta.url))
const read = (path: string): string => readFileSync(join(root, path), 'utf8')

const text = read('compose.yaml')
const { services, networks, configs }: Compose = parse(text, { merge: true })
const { version, devDependencies } = JSON.parse(read('package.json'))
const dockerfile = read('Dockerfile')

const service = (name: string): Service => {
  const found = services[name]
  assert.ok(found, `there is no service ${name}`)
  return found
}

const PINNED = /^[\w./-]+:\d+\.\d+(?:\.\d+)?(?:-[\w.-]+)?$/

describe('the Compose file', () => {
  for (const [name, each] of Object.entries(services)) {
    const isMigration = name === 'migrate'
    const runs = isMigration ? 'runs it once' : 'starts it again'
    it(`bounds the rights and the resources of ${name}, lets it end cleanly, and ${runs}`, () => {
      assert.match(each.image, PINNED)
      assert.ok(each.user !== undefined && !/^(?:0|root)(?::|$)/.test(each.user))
      assert.equal(each.read_only, true)
      assert.deepEqual([each.cap_drop, each.security_opt], [['ALL'], ['no-new-privileges:true']])
      for (const key of ['privileged', 'cap_add', 'network_mode', 'pid', 'devices', 'group_add', 'container_name']) {
        assert.ok(!(key in each), `${name} has ${key}`)
      }
      // Redis bounds its memory by maxmemory. Under a lower bound of its container it would be killed.
      if (name !== 'redis') assert.match(each.mem_limit ?? '', /^\$\{[A-Z]+_MEMORY:-\d+[mg]\}$/)
      assert.ok(each.pids_limit! > 0)
      assert.deepEqual(Object.keys(each.logging?.options ?? {}).toSorted(), ['max-file', 'max-size'])
      assert.match(each.stop_grace_period ?? '', /^\d{2,}s$/)
      assert.equal(each.restart, isMigration ? 'no' : 'unless-stopped')
      assert.equal(each.healthcheck === undefined, isMigration)
    })

    it(`takes the secrets of ${name} from the environment, and names a missing secret`, () => {
      for (const [variable, value] of Object.entries(each.environment)) {
        if (!/PASSWORD|TOKEN|KEY|_URL$/.test(variable)) continue
        const outside = variable.endsWith('_URL') ? (/:\/\/\w*:(.+)@/.exec(value)?.[1] ?? '') : value
        assert.match(outside, /^\$\{\w+:\?set \w+ in \.env[^}]*\}$/, variable)
      }
    })
  }

  it('starts each of our programs from an existing file', () => {
    for (const each of Object.values(services).filter(({ build }) => build !== undefined)) {
      const [program, file = '', ...rest] = each.command ?? []
      assert.equal(program, 'bun')
      assert.ok(existsSync(join(root, file)), `${file} is missing`)
      assert.deepEqual(rest, [])
      assert.equal(each.image, `feedback-insights:${version}`)
    }
  })

  it('gives the programs all settings of .env, if there is one', () => {
    for (const each of Object.values(services).filter(({ build }) => build !== undefined))
      assert.deepEqual(each.env_file, [{ path: '.env', required: false }])
  })

  it('sets only variables that the programs know', () => {
    const ours = Object.values(services).filter(({ build }) => build !== undefined)
    const variables = new Set(ours.flatMap(({ environment }) => Object.keys(environment)))
    // Packages read this variable, and our code does not.
    variables.delete('NODE_ENV')
    const unknown = [...variables].filter((variable) => !Object.hasOwn(SETTINGS, variable))
    assert.deepEqual(unknown, [])
  })

  it('opens the servers only to the programs, and the API by default only to this machine', () => {
    for (const name of ['postgres', 'redis', 'migrate']) assert.deepEqual(service(name).networks, ['data'])
    assert.equal(networks['data']?.internal, true)
    assert.deepEqual(service('worker').networks, ['data', 'outside'], 'webhooks reach their addresses')
    for (const name of ['postgres', 'redis', 'migrate', 'worker']) assert.equal(service(name).ports, undefined)
    assert.deepEqual(service('api').ports, ['${API_ADDRESS:-127.0.0.1:3000}:3000'])
  })

  it('keeps the data of Postgres and Redis in volumes', () => {
    assert.deepEqual(service('postgres').volumes, ['postgres:/var/lib/postgresql'])
    assert.deepEqual(service('redis').volumes, ['redis:/data'])
    // Below version 18, the image keeps its data in another folder.
    assert.match(service('postgres').image, /^postgres:18\./)
  })

  it('starts each service only when its dependencies are ready', () => {
    assert.deepEqual(service('migrate').depends_on, { postgres: { condition: 'service_healthy' } })
    for (const name of ['api', 'worker']) {
      assert.deepEqual(service(name).depends_on, {
        postgres: { condition: 'service_healthy' },
        redis: { condition: 'service_healthy' },
        migrate: { condition: 'service_completed_successfully' },
      })
    }
  })

  it('gives the programs a role that owns their database, but is no superuser', () => {
    const [, user] = /\/\/(\w+):/.exec(service('api').environment['DATABASE_URL']!)!
    const script = configs['owner']!.content.replaceAll('$$', '$')
    const statements = runWithStub('psql', ['sh', '-c', script], { POSTGRES_PASSWORD: 'p4ss' })
    assert.match(statements, new RegExp(`create role ${user} login nosuperuser .* password :'password';`))
    assert.match(statements, new RegExp(`alter database feedback owner to ${user};`))
    // At first, the superuser of the image has the same password.
    assert.match(statements, /alter role postgres password null;/)
    assert.equal(service('postgres').environment['POSTGRES_USER'], undefined)
  })

  it('keeps Redis from evicting, losing or logging submitted content, and hides its password', () => {
    const settings = runWithStub('redis-server', service('redis').command ?? [], {
      REDIS_MAXMEMORY: '64mb',
      REDIS_PASSWORD: 'p4ss',
    })
    assert.deepEqual(settings.split('\n').filter(Boolean).toSorted(), [
      '$1 is -',
      'appendfsync no',
      'appendonly yes',
      'auto-aof-rewrite-min-size 256mb',
      'crash-log-enabled no',
      'dir /data',
      'hash-max-listpack-entries 32',
      'maxmemory 64mb',
      'maxmemory-policy noeviction',
      'requirepass p4ss',
      'save ""',
      'slowlog-log-slower-than -1',
    ])
  })

  const probes: [name: string, variable: string, path: string][] = [
    ['api', 'PORT', '/readyz'],
    ['worker', 'WORKER_PORT', '/healthz'],
  ]
  for (const [name, variable, path] of probes) {
    it(`counts ${name} as healthy exactly while ${path} answers 200`, async () => {
      const { environment, healthcheck } = service(name)
      const [kind, program, option, script = ''] = healthcheck?.test ?? []
      assert.deepEqual([kind, program, option], ['CMD', 'bun', '-e'])
      const address = `http://127.0.0.1:${environment[variable]}${path}`
      assert.ok(script.includes(`'${address}'`), script)
      assert.equal(environment[variable.replace('PORT', 'HOST')], '0.0.0.0')

      let status = 200
      const { url, stop } = await serveHttp((request, response) =>
        response.writeHead(request.url === path ? status : 404).end(),
      )
      const probe = (): Promise<number> => runBun(script.replace(address, `${url}${path}`))

      assert.equal(await probe(), 0)
      status = 503
      assert.equal(await probe(), 1)
      stop()
      assert.equal(await probe(), 1)
    })
  }
})

describe('the image', () => {
  const stages = [...dockerfile.matchAll(/^FROM (\S+)(?: AS \w+)?$/gm)].map(([, image = '']) => image)
  const last = dockerfile.slice(dockerfile.lastIndexOf('FROM '))

  it('is pinned, has the tested version of Bun, and runs in production mode as a user other than root', () => {
    for (const image of stages) assert.match(image, PINNED)
    assert.equal(stages.at(-1), `oven/bun:${devDependencies.bun}-slim`)
    assert.match(last, /^USER bun$/m)
    assert.match(last, /^ENV NODE_ENV=production$/m)
  })

  it('installs the packages of the lock file, and none for development', () => {
    assert.match(
      dockerfile,
      /^COPY package\.json package-lock\.json \.\/\n(?:#.*\n)*RUN npm install --no-save --omit=dev --omit=optional /m,
    )
  })

  const copied = [...dockerfile.matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(([, names = '']) => names.split(' '))

  it('has every room that one of its rooms may import', () => {
    const topOf = (room: string): string => room.split('/', 1)[0]!
    const missing = Object.entries(MAY_IMPORT).flatMap(([room, imported]) =>
      copied.includes(topOf(room)) ? imported.filter((other) => !copied.includes(topOf(other))) : [],
    )
    assert.deepEqual(missing, [])
  })

  it('copies only existing files, and Docker reads no others', () => {
    for (const name of copied) assert.ok(existsSync(join(root, name)), name)
    const [first, ...sent] = read('.dockerignore')
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#'))
    assert.equal(first, '*')
    assert.deepEqual(sent.toSorted(), [...new Set(copied)].map((name) => `!${name}`).toSorted())
  })
})

/**
 * Runs a command with a stub for the named program. Returns the first argument and the standard
 * input of the stub.
 */
const runWithStub = (name: string, command: readonly string[], environment: Record<string, string>): string => {
  const folder = temporaryDirectory()
  writeFileSync(join(folder, name), '#!/bin/sh\necho "\\$1 is $1"\ncat\n', { mode: 0o755 })
  const [program = '', ...options] = command.map((part) => part.replaceAll('$$', '$'))
  const env = { ...environment, PATH: `${folder}:/usr/bin:/bin` }
  const { stdout, stderr, status } = spawnSync(program, options, { env, encoding: 'utf8' })
  assert.equal(status, 0, stderr)
  return stdout
}

/**
 * Runs a script under Bun, and returns its exit code. Not synchronously, since the script asks a
 * server of this process.
 */
const runBun = (script: string): Promise<number> => {
  return new Promise((resolve) => {
    spawn(join(root, 'node_modules', '.bin', 'bun'), ['-e', script]).once('exit', (code) => resolve(code ?? -1))
  })
}
