import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cutHtml, htmlAsText, MAX_HTML_CHARACTERS, reduceHtml } from '../../runtime/reduce-html.ts'

const lines = (text: string) =>
  reduceHtml(text)
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')

test('plain text stays unchanged, including line breaks', () => {
  assert.equal(reduceHtml('The export fails.\nSince 3 < 4 & 5 > 4'), 'The export fails.\nSince 3 < 4 & 5 > 4')
})

test('entities are decoded', () => {
  assert.equal(reduceHtml('billing &amp; caf&eacute;&#39;s &#x41;'), "billing & café's A")
})

test('each block is a line, <br> ends a line, and inline elements and newlines in HTML do not', () => {
  assert.deepEqual(lines('<div>The <b>ex</b>port\nbutton</div><ul><li>slow<li>ugly</ul>end<br>here<td>cell'), [
    'The export button',
    'slow',
    'ugly',
    'end',
    'here',
    'cell',
  ])
})

test('scripts, styles, comments and attributes are not text', () => {
  const html = '<head><title>t</title></head><style>.a{}</style><script>x<y</script><!-- c --><p title="t">kept</p>'
  assert.deepEqual(lines(html), ['kept'])
})

test('the text after a < that begins no element is kept', () => {
  assert.deepEqual(lines('<p>fine</p>if x<y the screen flickers'), ['fine', 'if x<y the screen flickers'])
})

test('very long markup is read up to a bound, without the element at the cut', () => {
  const html = `<p>kept</p>${' '.repeat(MAX_HTML_CHARACTERS - 20)}<a href="secret">`
  assert.deepEqual(lines(cutHtml(html)), ['kept'])
})

test('a long plain text with a heart keeps its words up to the cut', () => {
  const text = 'We <3 it. ' + 'The export fails. '.repeat(3_000)
  assert.equal(cutHtml(text), text.slice(0, MAX_HTML_CHARACTERS))
})

const read: Record<string, string> = {
  '<p>The export &amp; import <b>fails</b>.</p><p>Since\n May&nbsp;3</p>': 'The export & import fails.\nSince May 3',
  '<DIV style="x">Caf&eacute;<BR/>closed</DIV><!-- seen 3 times -->': 'Café\nclosed',
  '<html><head><title>Mail</title><style>p{}</style></head><body><o:p>Hello</o:p></body></html>': 'Hello',
  'Q&amp;A is &lt;empty&gt;': 'Q&A is <empty>',
  'A List<String> of <Ann@example.org>\n\n if x<y & z>y': 'A List<String> of <Ann@example.org>\n\n if x<y & z>y',
  'https://example.org/?id=1&region=eu&copy=2 &lt': 'https://example.org/?id=1&region=eu&copy=2 &lt',
  'the <script> tag and <!-- stay, <b>bold</b> is markup': 'the <script> tag and <!-- stay, bold is markup',
  '<img src="x.png">': '<img src="x.png">',
  'We <3 it': 'We <3 it',
}
for (const [html, text] of Object.entries(read)) {
  test(`a person reads ${JSON.stringify(html)} as ${JSON.stringify(text)}`, () => assert.equal(htmlAsText(html), text))
}
