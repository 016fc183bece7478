/** The text of a feedback about a broken release, with its age in days. */
type StoryPiece = { readonly daysAgo: number; readonly text: string; readonly rating: number }

export const RELEASE_PRODUCT = 'MP3 player'

const TEXTS = [
  'After the firmware update the battery is empty by noon. Before it lasted three days.',
  'Since firmware update 4.2 the player restarts whenever I plug in my headphones. Unusable.',
  'The firmware update drains the battery overnight, even when the player is switched off.',
  'We rolled the firmware update out to 40 devices, and every battery is dead in half a day. Please stop it.',
  'The firmware update failed and the player is stuck at the logo. Support did not answer.',
  'Terrible firmware update: the battery gets hot and the playlists are gone.',
  'How can I undo the firmware update? The battery life is horrible now.',
  'Our staff returned a dozen players after the firmware update. The battery no longer survives a shift.',
  'The firmware update broke the sync with our library, and charging takes twice as long.',
  'Battery drain since the firmware update. We consider a refund.',
]
/** Ages of the feedback, the oldest first: few on the first days, then many. */
const DAYS_AGO = [10, 9, 8, 8, 7, 6, 6, 6, 5, 5, 5, 5, 4, 4, 4, 4, 4, 3, 3, 3, 3, 3, 2, 2, 2, 2, 1, 1, 1, 1]

export const releaseStory = (): StoryPiece[] =>
  DAYS_AGO.map((daysAgo, at) => ({ daysAgo, text: TEXTS[at % TEXTS.length]!, rating: 1 }))
