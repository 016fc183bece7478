import assert from 'node:assert/strict'
import { test } from 'node:test'
import { describeReport } from '../../demo/describe-report.ts'

test('aligns names, numbers and the members of a feedback, and wraps long texts', () => {
  const report = describeReport({
    tables: [
      { table: 'contact', rows: 60 },
      { table: 'account', rows: 5 },
    ],
    tags: [{ tag: 'battery life', uses: 12 }],
    example: {
      id: 'f1',
      source_id: null,
      description: 'word '.repeat(30).trim(),
      tags: ['battery life', 'price'],
      rating: 4,
      source_data: { device: { type: 'mobile' } },
      accepted_at: new Date(0),
      contact: { name: 'Amara Abara' },
      account: null,
      project: { name: 'Mobile phone' },
    },
  })
  assert.deepEqual(report.split('\n'), [
    'Rows',
    '  contact  60',
    '  account   5',
    '',
    'Most frequent tags',
    '  battery life  12',
    '',
    'One feedback in full',
    '  id                       f1',
    '  source_id                null',
    `  description              ${'word '.repeat(14).trim()}`,
    `                           ${'word '.repeat(14).trim()}`,
    '                           word word',
    '  tags                     battery life, price',
    '  rating                   4',
    '  source_data.device.type  mobile',
    '  accepted_at              1970-01-01T00:00:00.000Z',
    '  contact.name             Amara Abara',
    '  account                  null',
    '  project.name             Mobile phone',
  ])
})

test('says so when there is nothing', () => {
  assert.match(describeReport({ tables: [], tags: [], example: undefined }), /One feedback in full\n {2}none$/)
})
