"""Answers of vendors, made up in the shape that each row's source tells of, and what is to be read in them."""

from __future__ import annotations

import json
from typing import Any

DUTIES = "<p>You cook for the whole house.</p>"


def script(before: str, value: Any, behind: str = ";") -> str:
    """Return a page that has a value in its script."""
    return f"<!doctype html><html><body><script>{before}{json.dumps(value)}{behind}</script></body></html>"


PAYLOADS: dict[str, Any] = {
    "eightfold": {
        "domain": "acme.com",
        "count": 1,
        "positions": [
            {
                "id": 77001,
                "name": "Night Cook",
                "canonicalPositionUrl": "https://acme.eightfold.ai/careers/job/77001",
                "location": "Lyon, France",
                "locations": ["Lyon, France", "Paris, France"],
                "t_create": 1790000000,
                "department": "Kitchen",
                "work_location_option": "onsite",
            }
        ],
    },
    "eightfold_search": {
        "status": 200,
        "data": {
            "count": 1,
            "positions": [
                {
                    "id": 77001,
                    "name": "Night Cook",
                    "positionUrl": "/careers/job/77001",
                    "standardizedLocations": ["Lyon, FR"],
                    "postedTs": 1790000000,
                    "workLocationOption": "hybrid",
                    "atsJobId": "R-7",
                }
            ],
        },
    },
    "successfactors": (
        "<Job-Listing><Job><JobTitle>Night Cook</JobTitle><ReqId>4711</ReqId><Posted-Date>09/20/2026</Posted-Date>"
        "<Job-Description><![CDATA[" + DUTIES + "]]></Job-Description>"
        "<filter3><label>Type of Employment</label><value>Full-time</value></filter3>"
        "<mfield2><label>Posting Location</label><value>Lyon, France</value></mfield2></Job></Job-Listing>"
    ),
    "taleo": (
        '<!doctype html><section class="oracletaleocwsv2-search-results">'
        '<div class="oracletaleocwsv2-accordion-head-info">'
        '<h4><a href="/phe01/ats/careers/v2/viewRequisition?org=ACME&amp;cws=37&amp;rid=815">Night Cook</a></h4>'
        "<div>Lyon, France</div><div>Kitchen</div></div>"
        '<a class="jscroll-next" href="/phe01/ats/careers/v2/searchResults?rowFrom=10&amp;org=ACME&amp;cws=37">next</a>'
        "</section>"
    ),
    "jibe": {
        "totalCount": 1,
        "jobs": [
            {
                "data": {
                    "slug": "5150",
                    "req_id": "2026-5150",
                    "title": "Night Cook",
                    "city": "Lyon",
                    "state": "Rhone",
                    "country_code": "FR",
                    "description": DUTIES,
                    "posted_date": "2026-09-20T00:00:00+0000",
                    "employment_type": "FULL_TIME",
                    "hiring_organization": "Acme",
                    "categories": [{"name": "Kitchen"}],
                }
            }
        ],
    },
    "jazzhr": (
        '<!doctype html><title>Acme - Career Page</title><div id="job_listings_wrapper"><a class="job_title_link" '
        'href="/apply/jobs/details/Qx7Zt1?&">Night Cook</a></div>'
    ),
    "paylocity": script(
        "window.pageData = ",
        {
            "Jobs": [
                {
                    "JobId": 31337,
                    "JobTitle": "Night Cook",
                    "LocationName": "Hybrid - Lyon",
                    "JobLocation": {"City": "Lyon", "State": None, "Country": "FRA"},
                    "PublishedDate": "2026-09-20T10:00:00-04:00",
                    "HiringDepartment": "Kitchen",
                    "IsRemote": False,
                }
            ]
        },
    ),
    "ukg": {
        "totalCount": 1,
        "opportunities": [
            {
                "Id": "6f1c0d9e",
                "Title": "Night Cook",
                "RequisitionNumber": "NIGHT1",
                "FullTime": True,
                "JobLocationType": 2,
                "JobCategoryName": "Kitchen",
                "PostedDate": "2026-09-20T19:44:33.109Z",
                "BriefDescription": "You cook.",
                "Locations": [
                    {"Address": {"City": "Lyon", "State": None, "Country": {"Code": "FRA", "Name": "France"}}}
                ],
            }
        ],
    },
    "adp": {
        "meta": {"totalNumber": 1, "startSequence": 1},
        "jobRequisitions": [
            {
                "itemID": "9201_1",
                "clientRequisitionID": "N1",
                "requisitionTitle": "Night Cook",
                "postDate": "2026-09-20T12:09:00.000-04:00",
                "workLevelCode": {"shortName": "Full Time"},
                "requisitionLocations": [{"nameCode": {"shortName": "Lyon,  FR"}}],
            }
        ],
    },
    "dayforce": (
        '<!doctype html><ul><li class="search-result"><div class="posting-title"><h2>'
        '<a href="/CandidatePortal/en-US/acme/Posting/View/2600">Night Cook</a></h2></div>'
        '<div class="posting-location">Lyon, France</div></li></ul>'
    ),
    "phenom": script(
        "var phApp = {}; phApp.ddo = ",
        {
            "eagerLoadRefineSearch": {
                "totalHits": 1,
                "data": {
                    "jobs": [
                        {
                            "title": "Night Cook",
                            "reqId": "P-9",
                            "jobSeqNo": "ACMEUSP9EXTERNALENUS",
                            "city": "Lyon",
                            "country": "France",
                            "postedDate": "2026-09-20T09:54:06.573+0000",
                            "type": "Full-Time",
                            "descriptionTeaser": "You cook.",
                        }
                    ]
                },
            }
        },
    ),
    "avature": (
        '<!doctype html><article class="article article--result 1"><h3><a class="link" '
        'href="https://acme.avature.net/careers/JobDetail/Night-Cook/2718">Night Cook</a></h3>'
        '<span class="list-item-location">Lyon, France</span><span>Posted 20-Sep-2026</span></article>'
    ),
    "comeet": script(
        "COMPANY_POSITIONS_DATA = ",
        [
            {
                "uid": "7A.001",
                "name": "Night Cook",
                "company_name": "Acme",
                "department": "Kitchen",
                "employment_type": "Full-time",
                "workplace_type": "Hybrid",
                "location": {"name": "Lyon", "city": "Lyon", "country": "FR", "is_remote": False},
                "url_active_page": "https://acme.example/jobs/7A.001",
                "url_comeet_hosted_page": "https://www.comeet.com/jobs/acme/12.345/night-cook/7A.001",
                "time_updated": "2026-09-20T10:00:00Z",
                "custom_fields": {"details": [{"name": "Duties", "value": DUTIES}]},
            }
        ],
    ),
    "softgarden": (
        '<!doctype html><div class="matchElement" id="job_id_48001"><div class="matchValue date">9/20/26</div>'
        '<div class="matchValue title"><a href="../../job/48001/Night-Cook?l=en">Night Cook</a></div>'
        '<div class="matchValue ProjectGeoLocationCity"><span class="location-view-item">Lyon</span></div></div>'
    ),
    "rippling": {
        "page": 0,
        "totalItems": 1,
        "totalPages": 1,
        "items": [
            {
                "id": "b7e1",
                "name": "Night Cook",
                "url": "https://ats.rippling.com/acme/jobs/b7e1",
                "department": {"name": "Kitchen"},
                "locations": [{"name": "Lyon", "city": "Lyon", "countryCode": "FR", "workplaceType": "HYBRID"}],
            }
        ],
    },
    "remoteok": [
        {"last_updated": 1790000000, "legal": "Link back, please."},
        {
            "id": "1001",
            "slug": "night-cook-acme-1001",
            "position": "Night Cook",
            "company": "Acme",
            "location": "Worldwide",
            "date": "2026-09-20T10:00:00+00:00",
            "tags": ["cooking", "nights"],
            "description": DUTIES,
            "salary_min": 60000,
            "salary_max": 80000,
            "url": "https://remoteOK.com/remote-jobs/night-cook-acme-1001",
        },
    ],
    "remotive": {
        "job-count": 1,
        "jobs": [
            {
                "id": 2002,
                "url": "https://remotive.com/remote-jobs/kitchen/night-cook-2002",
                "title": "Night Cook",
                "company_name": "Acme",
                "category": "Kitchen",
                "tags": ["cooking"],
                "job_type": "full_time",
                "publication_date": "2026-09-20T10:00:00",
                "candidate_required_location": "France",
                "salary": "$60k - $80k",
                "description": DUTIES,
            }
        ],
    },
    "himalayas": {
        "totalCount": 1,
        "offset": 0,
        "limit": 20,
        "jobs": [
            {
                "guid": "https://himalayas.app/companies/acme/jobs/night-cook",
                "title": "Night Cook",
                "companyName": "Acme",
                "employmentType": "Full Time",
                "minSalary": 60000,
                "maxSalary": 80000,
                "currency": "USD",
                "seniority": ["Senior"],
                "locationRestrictions": ["France", "Spain"],
                "categories": ["Kitchen"],
                "description": DUTIES,
                "pubDate": 1790000000,
                "applicationLink": "https://himalayas.app/companies/acme/jobs/night-cook",
            }
        ],
    },
    "arbeitnow": {
        "data": [
            {
                "slug": "night-cook-berlin-3003",
                "company_name": "Acme",
                "title": "Night Cook",
                "description": DUTIES,
                "remote": True,
                "url": "https://www.arbeitnow.com/jobs/companies/acme/night-cook-berlin-3003",
                "tags": ["Kitchen"],
                "job_types": ["full time"],
                "location": "Berlin",
                "created_at": 1790000000,
            }
        ],
        "links": {"next": "https://www.arbeitnow.com/api/job-board-api?page=2"},
    },
    "hackernews": {
        "id": 1,
        "title": "Ask HN: Who is hiring?",
        "children": [
            {
                "id": 4004,
                "author": "chef",
                "created_at": "2026-09-20T10:00:00.000Z",
                "text": 'Acme | Night Cook | Lyon or REMOTE | <a href="https:&#x2F;&#x2F;acme.example">x</a><p>Cook.',
                "children": [],
            },
            {"id": 4005, "author": None, "text": None, "children": []},
        ],
    },
}
"""By the row: an answer with one opening, that of a cook at night."""

FOUND: dict[str, tuple[str, str, str | None, str | None]] = {
    "eightfold": ("77001", "https://acme.eightfold.ai/careers/job/77001", "Lyon, France; Paris, France", "onsite"),
    "eightfold_search": ("77001", "https://acme.eightfold.ai/careers/job/77001", "Lyon, FR", "hybrid"),
    "successfactors": (
        "4711",
        "https://career4.successfactors.com/career?career_ns=job_listing&company=ACME&career_job_req_id=4711",
        "Lyon, France",
        None,
    ),
    "taleo": (
        "815",
        "https://phe.tbe.taleo.net/phe01/ats/careers/v2/viewRequisition?org=ACME&cws=37&rid=815",
        "Lyon, France",
        None,
    ),
    "jibe": ("5150", "https://careers.acme.example/jobs/5150", "Lyon, Rhone, FR", None),
    "jazzhr": ("Qx7Zt1", "https://acme.applytojob.com/apply/jobs/details/Qx7Zt1", None, None),
    "paylocity": ("31337", "https://recruiting.paylocity.com/Recruiting/Jobs/Details/31337", "Lyon, FRA", "hybrid"),
    "ukg": (
        "6f1c0d9e",
        "https://recruiting.ultipro.com/ACM1000ACME/JobBoard/132b6065/OpportunityDetail?opportunityId=6f1c0d9e",
        "Lyon, FRA",
        "remote",
    ),
    "adp": (
        "9201_1",
        "https://workforcenow.adp.com/mascsr/default/mdf/recruitment/recruitment.html?cid=0b10&ccId=19_1&lang=en_US"
        "&jobId=9201_1",
        "Lyon, FR",
        None,
    ),
    "dayforce": (
        "2600",
        "https://us58.dayforcehcm.com/CandidatePortal/en-US/acme/Posting/View/2600",
        "Lyon, France",
        None,
    ),
    "phenom": ("P-9", "https://careers.acme.example/us/en/job/ACMEUSP9EXTERNALENUS", "Lyon, France", None),
    "avature": ("2718", "https://acme.avature.net/careers/JobDetail/Night-Cook/2718", "Lyon, France", None),
    "comeet": ("7A.001", "https://acme.example/jobs/7A.001", "Lyon, FR", "hybrid"),
    "softgarden": ("48001", "https://acme.softgarden.io/job/48001/Night-Cook?l=en", "Lyon", None),
    "rippling": ("b7e1", "https://ats.rippling.com/acme/jobs/b7e1", "Lyon, FR", "hybrid"),
    "remoteok": ("1001", "https://remoteOK.com/remote-jobs/night-cook-acme-1001", "Worldwide", "remote"),
    "remotive": ("2002", "https://remotive.com/remote-jobs/kitchen/night-cook-2002", "France", "remote"),
    "himalayas": (
        "https://himalayas.app/companies/acme/jobs/night-cook",
        "https://himalayas.app/companies/acme/jobs/night-cook",
        "France; Spain",
        "remote",
    ),
    "arbeitnow": (
        "night-cook-berlin-3003",
        "https://www.arbeitnow.com/jobs/companies/acme/night-cook-berlin-3003",
        "Berlin",
        "remote",
    ),
    "hackernews": ("4004", "https://news.ycombinator.com/item?id=4004", None, None),
}
"""Identifier, address, place and workplace that are read there."""
