import { type Html, html } from './html.ts'
import { renderOtherWays, renderSearchForm } from './search-page.ts'
import type { GuideInList } from './situations.ts'

/**
 * Renders the page for an unknown address.
 *
 * @param meaning says what is missing
 * @param more is shown after `meaning`
 * @param guides all guides; the page suggests some of them
 */
export const renderNotFoundPage = ({
  meaning,
  more,
  guides,
}: {
  meaning: string
  more?: Html | undefined
  guides: readonly GuideInList[]
}): Html => html`<h1>Page not found</h1>
<p>${meaning} The page may have moved. Search for it, or go to the <a href="/">home page</a>.</p>
${more}
${renderSearchForm()}
${renderOtherWays(guides)}`
