export { type AttorneyItems, loadAttorneyItems } from './attorney-items.ts'
export { checkGuides } from './check-guides.ts'
export { findFreshnessPeriod, isStale } from './freshness.ts'
export { ATTORNEY_HEADING, numberSources, WITHDRAWN_NOTICE } from './guide-body.ts'
export { createGuideIndex, type GuideIndex } from './guide-index.ts'
export { type GuideSection, INTRO, listGuideSections, toHeadingAnchor } from './guide-sections.ts'
export { loadGuides } from './load-guides.ts'
export { type FreshnessNotes, noteFreshness } from './note-freshness.ts'
export { isOfficial } from './official-hosts.ts'
export { type DatedGuide, type PackagedGuide, StoredGuide, toDatedGuide } from './packaged-guide.ts'
export {
  parseReadings,
  planRecheck,
  type RecheckedSource,
  type RecheckPlan,
  writeRecheck,
} from './recheck.ts'
export { SYNONYM_WORDS, splitWords, stemWord, toQuestionTerms, toSearchTerms } from './search-terms.ts'
export { type GuideAsks, loadSectionAsks, QUESTION_TYPES, type QuestionType } from './section-asks.ts'
export { describeStatus, summarizeFreshness } from './source-status.ts'
export { createTextSearch, type SearchableText } from './text-search.ts'
export { TRIGGERS_FOLDER } from './triggers-folder.ts'
