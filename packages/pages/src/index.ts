export { attorneyHelp, OFFICIAL_LISTS, officialLists } from './attorney-help.ts'
export { type GuideOnPage, guidePage } from './guide-page.ts'
export { type HomePage, homePage } from './home-page.ts'
export { type Html, type HtmlValue, html, rawHtml } from './html.ts'
export {
  type ChangelogPage,
  changelogPage,
  type PrivacyPage,
  privacyPage,
  termsPage,
} from './policy-pages.ts'
export { type ProblemPage, problemPage } from './problem-page.ts'
export {
  type ReferenceAnswer,
  type ReferenceField,
  type ReferenceOperation,
  type ReferencePage,
  referencePage,
} from './reference-page.ts'
export { PAGE_CSP, type Page, renderPage } from './render-page.ts'
export { type SearchPage, searchBox, searchPage } from './search-page.ts'
export { STYLESHEET } from './stylesheet.ts'
export {
  alreadyJoinedPage,
  joinedPage,
  type WaitlistForm,
  waitlistForm,
  waitlistPage,
} from './waitlist-page.ts'
