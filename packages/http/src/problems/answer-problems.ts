/** The problems of answers to questions. `ProblemKind` in `problems.ts` describes the members. */
export const ANSWER_PROBLEMS = {
  'answers-paused': {
    status: 503,
    title: 'Answers are paused',
    meaning:
      'Our staff paused answers to questions while they check something. The guides are still available.',
    remedy: 'Use findHelp to reach people who can help, read the guides, or ask again later.',
  },
  'answers-unavailable': {
    status: 503,
    title: 'Questions cannot be answered now',
    meaning:
      'This part of the service has just started. It does not know yet which answers our staff turned off.',
    remedy:
      'Use findHelp to reach people who can help, or ask again after the number of seconds in Retry-After.',
  },
} as const
