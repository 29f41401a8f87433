/** Matches denials, such as "no trips" and "never arrested". The question is not about their subject. */
const DENIAL =
  /\b(?:no|never|zero|without any|not any|nobody is|nothing of)(?: (?:any|had|been|was|a|single|police|court|other))? (?:trips?|travel|traveled|trouble|arrests?|arrested|record|records|police|court|courts|crimes?|criminal|tickets?|divorces?|divorced|divorcing|fighting|fights|problems?|violence|abuse|denied|denials?|deported|deportation|voted|removal|hearings?|ice|lies?|fraud|debts?)\b/gi

/** Matches mentions of a class, a teacher or a community center. The question is not about them. */
const CLASS_MENTION =
  /\b(?:civics|english|esl|history|law|social (?:work|studies)) (?:teacher|class|student|librarian|tutor)s?\b|\b(?:refugee|senior|community) center\b/gi

/**
 * Removes denials and class mentions, for the section search. Triggers are read from the whole question, because some of them
 * are denied events.
 */
export const removeDenials = (question: string): string =>
  question.replace(DENIAL, ' ').replace(CLASS_MENTION, ' ')
