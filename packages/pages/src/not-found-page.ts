import { type Html, html } from './html.ts'
import { otherWays } from './search-page.ts'
import type { GuideInList } from './situations.ts'

/** What a person sees where there is no page. @param meaning says what is missing @param more follows it */
export const notFoundPage = ({
  meaning,
  more,
  guides,
}: {
  meaning: string
  more?: Html | undefined
  guides: readonly GuideInList[]
}): Html => html`<h1>Page not found</h1>
<p>${meaning} The page may have moved. Go to the <a href="/">home page</a> or <a href="/guides">all guides</a>.</p>
${more}
${otherWays(guides)}`
