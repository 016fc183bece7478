import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { PLACEHOLDER_WORDS } from '../../contract/identity/placeholders.ts'
import { hostOf, idOf, keyOf, numberOf, textOf, timeOf } from '../../docs/recipes/values.ts'

/** Values of vendors for an absent value. */
const NOTHING = [null, undefined, '', '  ', false, true, [], {}, Number.NaN]

describe('values of vendors', () => {
  it('are undefined if they are absent', () => {
    for (const read of [textOf, idOf, keyOf, numberOf, timeOf, hostOf])
      assert.deepEqual(
        NOTHING.map((value) => read(value)),
        NOTHING.map(() => undefined),
        read.name,
      )
  })

  it('are an id as text, unless it is a placeholder or too long', () => {
    assert.deepEqual([4711, ' 4711 ', 'u-1'].map(idOf), ['4711', '4711', 'u-1'])
    const none = [
      ...PLACEHOLDER_WORDS,
      '\\N',
      '#N/A',
      '(blank)',
      '{{ticket.requester.email}}',
      0,
      'undefined',
      'NULL',
      'N/A',
      '[object Object]',
      'anonymous',
      '\u200bnull',
      'x'.repeat(513),
    ]
    for (const given of none) assert.equal(idOf(given), undefined, String(given))
  })

  it('are a number only in decimal digits and up to 1e15', () => {
    assert.deepEqual([0, 4.5, '3', ' 4.5 ', '-1'].map(numberOf), [0, 4.5, 3, 4.5, -1])
    for (const given of ['0x10', '1e3', '0b11', 'four', '4,5', '4/5', '５', 'Infinity', 1e16])
      assert.equal(numberOf(given), undefined, String(given))
  })

  it('are a time: zoneless is UTC, numbers are seconds or milliseconds', () => {
    const same =
      `2015-02-23 22:28:55|2015-02-23T22:28:55Z|2015-02-23T23:28:55+01:00|2015-02-23 20:28:55-02|2015-02-23 22:28:55 UTC
      |2015-02-23T22:28:55+0000|2015-02-23 22:28:55.0009|1424730535|1424730535000|Mon, 23 Feb 2015 22:28:55 GMT|Feb 23, 2015 22:28:55
      |Mon Feb 23 2015 23:28:55 GMT+0100 (CET)`.split('|')
    for (const given of [...same, 1424730535, 1424730535000])
      assert.equal(timeOf(given), '2015-02-23T22:28:55.000Z', String(given))
    assert.equal(timeOf('2015-02-23'), '2015-02-23T00:00:00.000Z')
    assert.equal(timeOf('9999-12-31T23:59:59.9999999Z'), '9999-12-31T23:59:59.999Z')
    const none = [
      '0001-01-01T00:00:00Z',
      'yesterday',
      0,
      '0',
      '5',
      '2015',
      '02/03/2015',
      '2015-02-30',
      '0x55',
      'step 5',
    ]
    for (const given of none) assert.equal(timeOf(given), undefined, String(given))
  })

  it('are the host of a website in any of its forms', () => {
    for (const given of [
      'initech.example',
      'www.initech.example',
      'https://www.initech.example/about',
      'http://initech.example.',
      'INITECH.example:8080',
    ])
      assert.equal(hostOf(given), 'initech.example', given)
    for (const given of ['Initech', 'n/a', 'no website.', '.', 'https://{{account.domain}}/'])
      assert.equal(hostOf(given), undefined, given)
    assert.equal(hostOf('https://müller.example/über-uns'), 'müller.example')
  })
})
