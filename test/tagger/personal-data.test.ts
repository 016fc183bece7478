import assert from 'node:assert/strict'
import { test } from 'node:test'
import { analyse, generateTags } from '../../tagger/generate-tags.ts'
import { learn } from '../../tagger/learn.ts'
import { addDelta, newMemory } from '../../tagger/memory.ts'

/** Texts with personal data, and the words that must not be in a tag. */
const personal: Record<string, RegExp> = {
  'My name is John Smith and my order 12345678 never arrived. Call me at +1 (555) 123-4567.': /john|smith|\d/,
  'Please contact sarah.connor@mail.example about the refund, thanks, Sarah': /sarah|connor|mail/,
  'I am Priya Raghunathan, account DE89 3704 0044 0532 0130 00, the login is broken': /priya|raghu|\d/,
  'hi this is mike from tolvane, the export button fails': /mike|tolvane/,
  'Our admin Kowalski cannot log in. Ticket ABC-12345': /kowalski|abc/,
  'johnsmith1985 lost access to the dashboard': /john/,
  'I spoke with Jennifer yesterday about the invoice and she was rude': /jennifer/,
  'jennifer told me the invoice is wrong': /jennifer/,
  'The agent named robert hung up on me': /robert/,
  'Thanks, Maria Gonzalez': /maria|gonzalez/,
  'Regards\nTom Baker': /tom|baker/,
  'I live at 221B Baker Street and the delivery went to Oxford Road': /baker|oxford|221/,
  'Hola, soy Carlos Pérez y la factura está mal': /carlos|pérez/,
  'Me llamo ana lópez y no puedo entrar en mi cuenta': /ana|lópez/,
  'Bonjour, je suis Jean Dupont, la facture est fausse': /jean|dupont/,
  'Ich heiße Klaus Müller und die Rechnung ist falsch. Frau Schneider hat nicht geantwortet.': /klaus|müller|schneider/,
  'Меня зовут Иван Петров, заказ не пришел': /иван|петров/,
  メールは田中さんに送りました: /田中/,
  '我叫王小明，我的订单还没有到': /王|小明/,
  'Meu nome é João Silva e o pagamento não entrou': /joão|silva/,
  'Sono Marco Rossi e la fattura è sbagliata': /marco|rossi/,
  'Ik ben Jan de Vries en de factuur klopt niet': /jan|vries/,
  'Benim adım Mehmet Yılmaz, fatura yanlış': /mehmet|yılmaz/,
  'Nazywam się Jan Kowalski i faktura jest błędna': /jan|kowalski/,
  'اسمي أحمد حسن والفاتورة خاطئة': /أحمد|حسن/,
  'JOHN TOLVANE CALLED ABOUT THE BROKEN CHECKOUT PAGE': /john|tolvane/,
  'my colleague grace says the sync fails': /grace/,
  'the tolvane invoice is late': /tolvane/,
  'agent sofia helped with my booking': /sofia/,
  'Maria, our waitress, was lovely': /maria/,
  'i live in 12 oak street springfield': /oak|springfield/,
  'my iban is NL91ABNA0417164300 and the transfer failed': /abna|\d/,
  'el camarero javier fue muy amable': /javier/,
  'Die Anna ist nett': /anna/,
  'официант сергей был груб': /сергей/,
  'النادل محمد كان لطيفا': /محمد/,
  'the password hunter2 and the address 192.168.1.10 do not work': /hunter|\d/,
}
for (const [text, data] of Object.entries(personal)) {
  test(`tags have no personal data: ${text}`, () => {
    const tags = generateTags(text).join(' | ')
    assert.doesNotMatch(tags, data)
    const memory = newMemory()
    addDelta(memory, learn(analyse(text)))
    assert.doesNotMatch(generateTags(text, { memory }).join(' | '), data)
  })
}

test('a tag of people is not given again if it has an address or a number', () => {
  const memory = newMemory()
  for (let time = 0; time < 9; time++) {
    addDelta(memory, learn(analyse('the wheel squeaks'), ['wheel ann@mail.example', 'wheel 4111']))
  }
  for (const tag of generateTags('the wheel squeaks', { memory })) assert.doesNotMatch(tag, /@|\d/)
})
