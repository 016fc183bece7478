const PRAISE = new Set(
  `amazing awesome beautiful best better bright clear comfortable compact crisp delighted durable easily easy excellent exceptional
  fantastic fast favorite fine flawless fun good gorgeous great handy happy impressed impressive incredible intuitive love loves nice
  outstanding perfect perfectly pleased pleasure powerful quick recommend recommended reliable satisfied sharp sleek smooth solid
  stunning stylish sturdy superb terrific thrilled user-friendly well wonderful worth`.split(/\s+/),
)
const BLAME = new Set(
  `annoying awful awkward bad blurry broke broken bulky cheap complaint complaints complicated confusing crash crashes dead defective
  difficult disappointed disappointing disappointment drains error errors expensive fail failed fails failure fault faulty flaw flimsy
  freezes frustrated frustrating frustration garbage hate horrible impossible inferior issue issues junk lack lacks lemon loud lousy noise noisy
  outrageous poor poorly problem problems refund regret return returned ridiculous scratch scratched slow stopped stuck terrible
  trouble unable unhappy unreliable unusable useless waste wasted weak worse worst worthless wrong`.split(/\s+/),
)
const NEGATION = new Set([
  'not',
  'no',
  'never',
  'without',
  "n't",
  'hardly',
  "isn't",
  "doesn't",
  "don't",
  "won't",
  "wasn't",
])
/** A negation reverses the words after it, up to this distance. */
const REACH = 3

/** A plausible rating from 1 to 5 for a text, by its words of praise and blame. */
export const ratingOf = (text: string): number => {
  const words = text.toLowerCase().match(/[a-z][a-z'-]*/g) ?? []
  let [praise, blame] = [0, 0]
  words.forEach((word, at) => {
    const isTurned = words.slice(Math.max(0, at - REACH), at).some((before) => NEGATION.has(before))
    if (PRAISE.has(word) && !isTurned) praise++
    if (PRAISE.has(word) && isTurned) blame++
    // "No problems" counts for little, "problem" for much.
    if (BLAME.has(word) && !isTurned) blame++
  })
  if (praise + blame === 0) return 3
  return 1 + Math.round((4 * praise) / (praise + blame))
}
