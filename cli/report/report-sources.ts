import { DEFAULT_WORKSPACE } from '../../db/workspaces/workspaces.ts'
import { html, type Html } from './html.ts'
import { number, percent, rating, scoreOf, signed, table } from './report-parts.ts'
import type { SourceRatings } from './report.ts'

/** The sources with ratings, and a command for each one whose scale a person has to give. */
export const sourceTable = (workspace: string, sources: readonly SourceRatings[]): Html => {
  const unknown = sources.filter(({ scale, isScaleGiven }) => scale === null && !isScaleGiven)
  return html`<p>
      Satisfaction is the place of a rating between the ends of the scale of its source, from 0 to 100 %. Up to 40 % is
      bad. CSAT, for a scale of 1 to 5, is the percentage of ratings of 4 or more. NPS, for a scale of 0 to 10, is the
      percentage of 9 or more, less the percentage below 7.
    </p>
    ${table('Sources', ['Source', 'Ratings', 'CSAT', 'NPS', 'Satisfaction', 'Scale'], sources.map(sourceRow))}
    ${unknown.length === 0 ? html`` : scaleCommands(workspace, unknown)}`
}

const sourceRow = (source: SourceRatings): Html =>
  html`<tr>
    <th scope="row"><bdi>${source.source}</bdi></th>
    <td>${number(source.ratings)}</td>
    <td>${percent(source.csat)}</td>
    <td>${source.nps === null ? '–' : signed(100 * source.nps)}</td>
    <td>${scoreOf(source)}</td>
    <td>${scaleText(source)}</td>
  </tr>`

const scaleText = ({ scale, isScaleGiven }: SourceRatings): string => {
  if (scale === null) return isScaleGiven ? 'none' : 'unknown'
  return `${rating(scale[0])} to ${rating(scale[1])}`
}

const scaleCommands = (workspace: string, sources: readonly SourceRatings[]): Html =>
  html`<p>
      No mean counts the ratings of a source whose scale is unknown. 20 ratings show a scale of 1 to 5, or of 0 to 10.
      Give any other scale with a command that has the worst and the best possible rating in place of LOW and HIGH:
    </p>
    <ul>
      ${sources.map(
        (source) =>
          html`<li>
            <bdi>${source.source}</bdi>, ${number(source.ratings)} ratings from ${rating(source.least)} to
            ${rating(source.most)}: <code>${setScale(workspace, source)}</code>
          </li>`,
      )}
    </ul>`

const setScale = (workspace: string, { source }: SourceRatings): string =>
  [
    `npm run source -- set ${quoted(source)} --scale LOW..HIGH`,
    ...(workspace === DEFAULT_WORKSPACE ? [] : [`--workspace ${quoted(workspace)}`]),
  ].join(' ')

/** One word for a shell: a source is text of a client. */
const quoted = (text: string): string =>
  /^[\w.:@/][\w.:@/-]*$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`
