import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import terms from '../../tagger/data/terms-with-digits.json' with { type: 'json' }
import { generateTags } from '../../tagger/generate-tags.ts'
import { MAX_HTML_CHARACTERS } from '../../runtime/reduce-html.ts'
import { seeded } from '../support/property-seed.ts'

/** Several ways to say the same, with one tag. */
const unified: Record<string, string[]> = {
  'csv export': ['Exports to CSV fail', 'please add a CSV export', 'exporting to csv does not work'],
  'card decline': ['my card was declined', 'The card got declined again'],
  'dark mode': ['dark mode please', 'DARK MODE IS MISSING', 'We would love a dark mode'],
  'login error': ['login error', 'Login errors all the time', 'a log-in error'],
  'email notification': ['E-mail notifications are late', 'Email notification'],
  crash: ['it crashed again'],
  'time zone': ['The time zone of an event is wrong', 'wrong time zones'],
  'receipt scan': ['Scanning a receipt takes forever'],
  'picture quality': ['The quality of the pictures is poor', 'poor picture quality'],
}
for (const [tag, texts] of Object.entries(unified)) {
  for (const text of texts) {
    test(`a text gets the tag ${tag}: ${text}`, () => {
      assert.equal(generateTags(text)[0], tag)
    })
  }
}

/** The subject of a text comes before the words near it. */
const subjects: Record<string, string> = {
  'My card was declined, I stood at the counter with a full basket': 'card decline',
  'The month view is far too crowded on a phone': 'month view',
  // The dictionary has `high quality`. Such a compound counts less than one of the list of topics.
  'The reports are of high quality': 'report',
}
for (const [text, tag] of Object.entries(subjects)) {
  test(`the first tag is the subject: ${text}`, () => {
    assert.equal(generateTags(text)[0], tag)
  })
}

/** The first tag of a text without a given language. */
const languages: Record<string, string> = {
  '<p>The <b>export button</b> &amp; more</p><script>the dashboard</script>': 'export button',
  'The batteries died. The battery is bad.': 'battery',
  'THE DELIVERY WAS LATE': 'delivery',
  'Los camareros son muy amables': 'camarero',
  'Las facturas siempre llegan tarde': 'factura',
  "La facture n'est pas bonne et le support ne répond jamais": 'facture',
  'Les serveuses sont très agréables': 'serveuse',
  'Die Rechnung ist falsch': 'rechnung',
  'Os pagamentos falham sempre': 'pagamento',
  'I camerieri sono molto gentili': 'cameriere',
  'Le camere sono molto pulite': 'camera',
  'Las cámaras no funcionan bien': 'cámara',
  'De levering is te laat': 'levering',
  'Обслуживание было ужасное': 'обслуживание',
  'Sipariş hâlâ gelmedi, çok kötü': 'sipariş',
  'Dostawa była bardzo szybka': 'dostawa',
  应用闪退: '应用',
  ログインできません: 'ログイン',
  'التطبيق بطيء جدا': 'تطبيق',
}
for (const [text, tag] of Object.entries(languages)) {
  test(`the first tag is in the language of the text: ${text}`, () => {
    assert.equal(generateTags(text)[0], tag)
  })
}

test('each of the few terms with a digit can be in a tag', () => {
  for (const term of terms) assert.deepEqual(generateTags(`Please add ${term} support`), [`${term} support`])
})

test('a named language wins over the detected language', () => {
  assert.deepEqual(generateTags('pagina', { language: 'nl' }), ['pagina'])
  assert.deepEqual(generateTags('pagina', { language: 'es' }), ['página'])
  assert.deepEqual(generateTags('Die Rechnung'), ['rechnung'])
  assert.deepEqual(generateTags('Die Rechnung', { language: 'de-AT' }), ['rechnung'])
  assert.deepEqual(generateTags('Die Rechnung', { language: 'en' }), [])
})

test('a text with several topics gets several tags', () => {
  assert.equal(generateTags('The battery is weak.').length, 1)
  const long = 'The screen is great. The keyboard is bad. The battery is weak. The camera is superb. The price is high.'
  assert.ok(generateTags(long).length >= 3)
})

const noise = [
  '',
  'Thanks!',
  'asdf asdf qwer',
  '1234',
  '😀😀',
  '<p></p>',
  '\u0000\ud800',
  'the of and',
  'lorem ipsum dolor sit amet',
  'hahaha',
  'muy bien',
  'merci beaucoup',
  'ありがとう',
  'спасибо',
  'Automatic reply: I am out of the office until Monday. For urgent matters contact the sales department.',
  'Ich bin bis zum 4. Mai nicht im Büro und habe keinen Zugriff auf mein Postfach.',
  "Je serai absent du 3 au 10 mai. En cas d'urgence, contactez l'accueil.",
  'Estaré ausente hasta el lunes. Para asuntos urgentes llame a la oficina.',
  'Estou fora do escritório até segunda-feira, com acesso limitado ao e-mail.',
  'Sarò assente fino al 5 maggio, per urgenze scrivere alla segreteria.',
  'Ik ben afwezig tot maandag. Voor dringende zaken kunt u mijn collega bellen.',
  'Я сейчас в отпуске, отвечу после возвращения.',
  'Jestem na urlopie do poniedziałku. W pilnych sprawach proszę o kontakt z biurem.',
  'Şu anda izindeyim, döndüğümde yanıt vereceğim.',
  '您好，我正在休假，回来后会尽快回复您的邮件。',
  '只今外出しております。戻り次第ご連絡いたします。',
  'أنا خارج المكتب حتى يوم الأحد وسأرد على رسالتك عند عودتي',
  'We have received your request. Ticket number 48213.',
  'Hi team, hope you had a great weekend!',
  'Kind regards,\nJohn Smith\nHead of Marketing\nPhone 020 1234 5678',
  // Plurals of noise words.
  'The yesterdays are broken',
  'Los tipos fallan',
  'Les exemples sont mauvais',
]
for (const text of noise) {
  test(`noise gets no tags: ${JSON.stringify(text)}`, () => {
    assert.deepEqual(generateTags(text), [])
  })
}

test('Chinese nouns are recognised by a list, and by their last character', () => {
  const without = [
    '毛巾有一股霉味，马桶也漏水。',
    '牛肉太老，米饭是冷的。',
    '空调不制冷，风扇还响。',
    '鞋底开胶，穿了一周就坏。',
    '窗帘遮光不行。',
    '种子没发芽。',
    '唱片有划痕。',
  ].filter((text) => generateTags(text).length === 0)
  assert.deepEqual(without, [])
})

test('Polish verbs with the endings of past and plural are not tags', () => {
  assert.deepEqual(generateTags('Słuchawki trzeszczą przy głośnych utworach.'), ['słuchawki'])
  assert.deepEqual(generateTags('Zabawka rozpadła się po jednym dniu.'), ['zabawka'])
})

test('a conversation is tagged by its subject, not by small talk, also after a signature', () => {
  const conversations: Record<string, string[]> = {
    'excel export': [
      'hello',
      'is someone there?',
      'so, the export to Excel fails',
      'no problem',
      'lovely weather by the way',
      'thank you!',
    ],
    'delivery address': [
      'Morning! Just got back from lunch.',
      'My kids are at home today.',
      'Can I change the delivery address of my order?',
    ],
    'tracking number': ['Kind regards,\nTom Miller\nSales Lead\nAcme Ltd', 'The tracking number is wrong.'],
    rechnung: ['Hallo zusammen', 'Was für ein Wetter heute!', 'Die Rechnung fehlt', 'Schönes Wochenende!'],
  }
  for (const [matter, messages] of Object.entries(conversations)) {
    const tags = generateTags(messages.join('\u2029'))
    assert.equal(tags[0], matter, tags.join())
    for (const tag of ['weather', 'lunch', 'kid', 'morning', 'wetter']) assert.ok(!tags.includes(tag), tag)
  }
  const matters = ['hello', 'The weather widget shows the wrong town', 'and the lunch menu is missing']
  assert.deepEqual(generateTags(matters.join('\u2029')).toSorted(), ['lunch menu', 'weather widget'])
})

test('a signature below a line of two hyphens gives no tags', () => {
  for (const line of ['--', '-- ']) {
    assert.deepEqual(generateTags(`The invoice is wrong.\n${line}\nTom\nTry our new mobile app!`), ['invoice'])
  }
})

test('an element at the cut of a very long text gives no tags', () => {
  const text = `<p class="${'x'.repeat(MAX_HTML_CHARACTERS - 100)}">The invoice is wrong.</p>`
  assert.deepEqual(generateTags(`${text}<img alt="the battery" src="${'x'.repeat(200)}">`), ['invoice'])
})

test('a text that mentions a holiday or an absence gets tags', () => {
  assert.ok(generateTags("I'm on vacation and the VPN connection drops every hour").includes('vpn'))
  assert.ok(generateTags('Ich bin im Urlaub und die Rechnung kommt trotzdem an die Firma').includes('rechnung'))
  assert.ok(generateTags('外出中にアプリの通知が届きません').length > 0)
  assert.ok(generateTags('When I am away from my desk the notification sound is too quiet').length > 0)
})

test('a text about automatic replies, or with a greeting, keeps its tags', () => {
  assert.ok(generateTags('Please add an out of office message to the calendar.').includes('calendar'))
  assert.ok(generateTags('The automatic reply feature sends each mail twice').includes('mail'))
  assert.deepEqual(generateTags('Good morning, the invoice is wrong. Kind regards, Tom from sales'), ['invoice'])
})

test('a text in a language without lists gets no tags', () => {
  assert.deepEqual(generateTags('Додаток постійно вилітає під час завантаження'), [])
  assert.deepEqual(generateTags('برنامه هنگام پرداخت بسته می‌شود چون گیر می‌کند'), [])
  assert.deepEqual(generateTags('Aplikace se při placení neustále ukončuje a faktura přišla pozdě, což je škoda'), [])
  assert.deepEqual(generateTags('ऐप बार बार बंद हो जाता है'), [])
})

test('no tag is inside another', () => {
  const tags = generateTags('The battery is weak. The battery life, the battery life is short.')
  assert.deepEqual(tags, ['battery life'])
})

test('tags of any text are few, short, lower case, distinct, and without signs of an address', () => {
  const words = fc.constantFrom(
    'the',
    'screen',
    'Battery',
    'life',
    'a@b.c',
    '12',
    '<b>',
    '&lt;',
    '\n',
    '。',
    '支付',
    'é',
    "l'",
    '-',
  )
  const texts = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.array(words).map((list) => list.join(' ')),
  )
  fc.assert(
    fc.property(texts, (text) => {
      const tags = generateTags(text)
      assert.ok(tags.length <= 5)
      assert.equal(new Set(tags).size, tags.length)
      for (const tag of tags) assert.match(tag, /^(?!.*\p{Lu})[^@:\\/_<>&\n]{1,48}$/u)
    }),
    seeded(),
  )
})
