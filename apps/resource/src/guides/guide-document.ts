import type { Guide } from '@plainpath/domain'
import { type DatedGuide, withNumberedSources } from '@plainpath/guides'

/** The guide as the API gives it: its body points at the n-th source as `[n]`. */
export function guideDocument(guide: DatedGuide): Guide {
  const { body, sources } = withNumberedSources(guide.body, guide.sources)
  return { ...guide, body, sources: [...sources], talkToAnAttorneyWhen: [...guide.talkToAnAttorneyWhen] }
}

/** The same as one Markdown text. The body closes with when to talk to an attorney and with the disclaimer. */
export function guideMarkdown(guide: Guide): string {
  const reviewed =
    guide.reviewed === null ? 'Not yet reviewed by an attorney.' : `Reviewed on ${guide.reviewed}.`
  const stale = guide.stale
    ? ' Some sources below were checked long ago: look at the official page before you act.'
    : ''
  const sources = guide.sources.map(
    ({ title, url, agency, checked }, index) =>
      `${index + 1}. [${title}](${url}). ${agency}. Checked ${checked}.`,
  )
  return `# ${guide.title}

${guide.summary}

${reviewed} Updated ${guide.updated}.${stale}

${guide.body}

## Sources

${sources.join('\n')}
`
}
