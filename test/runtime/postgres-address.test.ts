import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { readPostgresUrl, withLogin } from '../../runtime/postgres-address.ts'

describe('the forms of DATABASE_URL', () => {
  it('of one server stay unchanged', () => {
    for (const url of [
      'postgres://u:p@h:5432/d',
      'postgres:///d',
      'postgres://h',
      'postgresql://h/d?sslmode=require',
      'postgres://u:a%2Cb@h/d',
      'postgres://u:p@[::1]:5432/d',
      'postgres://u:p@%2Fvar%2Frun%2Fpostgresql/d',
    ]) {
      assert.deepEqual(readPostgresUrl(url), { urls: [url], isPrimaryAsked: false, isPooled: false })
    }
  })

  /** Addresses of hosting providers, ORMs and libpq, and the form for the driver. */
  const written: Record<string, string> = {
    'postgresql://u:p@ep-x-pooler.eu.aws.neon.tech/d?sslmode=require&channel_binding=require':
      'postgresql://u:p@ep-x-pooler.eu.aws.neon.tech/d?sslmode=require',
    'postgres://u:p@h/d?sslmode=require&options=endpoint%3Dep-x':
      'postgres://u:p@h/d?sslmode=require&options=endpoint%3Dep-x',
    'postgres://u@server:p@server.postgres.database.azure.com/d?sslmode=require':
      'postgres://u%40server:p@server.postgres.database.azure.com/d?sslmode=require',
    'postgres://u:p@h:25060/d?ssl=true': 'postgres://u:p@h:25060/d?sslmode=verify-full',
    'postgres://u:p@h/d?sslmode=no-verify': 'postgres://u:p@h/d?sslmode=require',
    'postgres://u:p@h/d?sslrootcert=system': 'postgres://u:p@h/d?sslmode=verify-full',
    'postgres://u:p@h/d?connection_limit=1&pool_timeout=20&connect_timeout=9&application_name=Feedback':
      'postgres://u:p@h/d?application_name=Feedback',
    'postgres://u:p@h/d?target_session_attrs=any&gssencmode=disable': 'postgres://u:p@h/d',
    'postgres://u:p@localhost/d?host=/var/run/postgresql': 'postgres://u:p@%2Fvar%2Frun%2Fpostgresql/d',
    'postgres://u:p@/d?host=::1&port=5433': 'postgres://u:p@[::1]:5433/d',
    ' postgres://u:p@h/d\n': 'postgres://u:p@h/d',
  }
  for (const [text, url] of Object.entries(written)) {
    it(`include ${JSON.stringify(text)}`, () => {
      assert.deepEqual(readPostgresUrl(text), { urls: [url], isPrimaryAsked: false, isPooled: false })
    })
  }

  it('can name a pooler in transaction mode, or deny it', () => {
    for (const isPooled of [true, false])
      assert.deepEqual(readPostgresUrl(`postgres://u:p@h:6543/d?pgbouncer=${isPooled}`), {
        urls: ['postgres://u:p@h:6543/d'],
        isPrimaryAsked: false,
        isPooled,
      })
  })

  it('of several servers give a URL for each, without the attribute', () => {
    assert.deepEqual(
      readPostgresUrl('postgres://u:p@a:1,[::1]:2,c/d?target_session_attrs=read-write&sslmode=verify-full'),
      {
        urls: ['a:1', '[::1]:2', 'c'].map((host) => `postgres://u:p@${host}/d?sslmode=verify-full`),
        isPrimaryAsked: true,
        isPooled: false,
      },
    )
    assert.deepEqual(readPostgresUrl('postgres://a/d?target_session_attrs=primary'), {
      urls: ['postgres://a/d'],
      isPrimaryAsked: true,
      isPooled: false,
    })
  })

  it('are refused with the expected form, and never with the value', () => {
    for (const [text, expected] of [
      ['postgres://a,b/d', /target_session_attrs=read-write after several hosts/],
      ['postgres://a,b/d?target_session_attrs=any', /target_session_attrs=read-write after several hosts/],
      ['postgres://a/d?target_session_attrs=other', /^target_session_attrs as one of read-write, primary, /],
      ['postgres://a:1,b:x/d?target_session_attrs=primary', /^a URL such as/],
      ['postgres://,a/d?target_session_attrs=primary', /^a URL such as/],
      ['postgres://a,/d?target_session_attrs=primary', /^a URL such as/],
      ['postgres://u:p@h/d?schema=public', /^no parameter schema: set DATABASE_SCHEMA/],
      [
        'postgres://u:p@h/d?sslmode=verify-full&sslrootcert=/ca.pem',
        /^no parameter sslrootcert: set NODE_EXTRA_CA_CERTS/,
      ],
      ['postgres://u:p@h/d?sslcert=x', /^no parameter sslcert:/],
      ['postgres://u:p@h/d?statement_timeout=1', /^no parameter statement_timeout, which is not known here/],
      ['postgres://u:p@h/d?sslmode=always', /^sslmode as one of disable, /],
      ['postgres://u:secret%zz@h/d', /percent-encoded/],
      ['postgres://u:secret#w@h/d', /percent-encoded/],
      ['postgres://u:secret/w@h/d', /percent-encoded/],
      ['postgres://u:secret?secret=w@h/d', /percent-encoded/],
      ['postgres://u@server:1?secret=w@h/d', /percent-encoded/],
      ['jdbc:postgresql://h/d', /^a URL such as/],
      ['http://a/d', /^a URL such as/],
      ['', /^a URL such as/],
    ] as const) {
      const problem = readPostgresUrl(text)
      assert.ok(typeof problem === 'string', text)
      assert.match(problem, expected, text)
      assert.doesNotMatch(problem, /secret/)
    }
  })
})

describe('the address of another user', () => {
  it('has the hosts, the database and the parameters of the address', () => {
    for (const [given, expected] of [
      ['postgres://u:p@h:5433/d?sslmode=require', 'postgres://insights:x-1@h:5433/d?sslmode=require'],
      [' postgresql://h/d', 'postgresql://insights:x-1@h/d'],
      [
        'postgres://u:p%40@a,b/d?target_session_attrs=primary',
        'postgres://insights:x-1@a,b/d?target_session_attrs=primary',
      ],
      ['postgres://u@/d?host=/tmp', 'postgres://insights:x-1@/d?host=/tmp'],
    ] as const)
      assert.equal(withLogin(given, 'insights', 'x-1'), expected)
  })
})
