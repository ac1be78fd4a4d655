"""What is decided for a pod is carried out here, in one course from top to bottom.

| Module | Holds |
| --- | --- |
| `decisions` | what is decided: bindings and evictions |
| `pods` | begins here: one course for each decision |
| `course` | the stages of a course, its steps, its end |
| `carrier` | reserves what a pod needs, binds it, undoes the rest |
| `groups` | pod groups that do not exist yet, and the pods that do not name theirs |
| `evicting` | evictions |
| `requests` | BindRequests that exist, for a scheduler |
| `binder` | carries out BindRequests, for a binder |
| `results` | what the courses have found out |

The courses themselves are of kai.controllers.courses. No I/O.
"""
